import { type Change, operations, type Quotewire, Seal, Storage } from "@quotewire/core"
import { Http } from "@quotewire/http"
import { Effect, Layer, ManagedRuntime } from "effect"
import { write } from "../../packages/core/src/access/Cursor.ts"
import * as Child from "../Child.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { percentile } from "../statistics.ts"
import { storage } from "./Databases.ts"
import { counted, renumbered, workspaceOf } from "./start.ts"

/**
 * Tells the host to listen on a database with one real request, to find cursors to read from, or to measure a claim.
 */
export type Question =
  | { readonly ask: "listen"; readonly url: string }
  | { readonly ask: "cursors"; readonly events: number; readonly count: number }
  | { readonly ask: "claim"; readonly sample: Change.Change; readonly claims: number }

/** Where the host listens, the key that it accepts, and the IDs of a workspace and a quote in its database. */
export interface ListeningAddress {
  readonly port: number
  readonly key: string
  readonly workspace_id: string
  readonly quote_id: string
}

type Services = Quotewire.Services | Storage.Storage | Http.Host
let runtime: ManagedRuntime.ManagedRuntime<Services, unknown> | null = null
let workspaceId = workspaceOf(0)

const run = <A>(effect: Effect.Effect<A, unknown, Services>): Promise<A> =>
  runtime === null ? Promise.reject(new Error("It does not listen yet")) : runtime.runPromise(effect)

const listen = async (url: string): Promise<ListeningAddress> => {
  const core = Service.layerOn(storage(url))
  runtime = ManagedRuntime.make(Http.layer<Quotewire.Services>({ operations, port: 0 }).pipe(Layer.provideMerge(core)))
  return run(
    Effect.gen(function* () {
      const { port } = yield* Http.Host
      const key = yield* Service.makeKey
      const [quote] = yield* Service.makeQuotes(key, starts.smallest("request-000000000000"))
      const storagePort = yield* Storage.Storage
      const workspaceIds = yield* storagePort.workspaces(Storage.directoryWorkspace, 10)
      workspaceId = workspaceIds[0] ?? workspaceId
      return { port, key, workspace_id: workspaceId, quote_id: quote?.id ?? "" }
    })
  )
}

/** Finds cursors at arbitrary positions in the feed. */
const cursors = (events: number, count: number) =>
  Effect.gen(function* () {
    const seal = yield* Seal.Seal
    const places = Array.from({ length: count }, (_, index) => Math.floor(((events - 100) * index) / count))
    return yield* Effect.forEach(places, (place) =>
      write(seal, { list: "events", workspace_id: workspaceId }, `0 ${place}`)
    )
  })

const jobsEach = 100

/** Measures claiming a hundred due jobs while all other jobs are due later. */
const claim = (sample: Change.Change, claims: number) =>
  Effect.gen(function* () {
    const port = yield* Storage.Storage
    const times: Array<number> = []
    const [job] = renumbered(sample, 1, 0).jobs
    if (job === undefined) return yield* Effect.die(new Error("A start call leaves a job"))
    const jobs = Array.from({ length: jobsEach }, () => ({ ...job, due_at: 0 }))
    for (let i = 0; i < claims; i++) {
      yield* port.commit({ ...renumbered(sample, 1, 0), writes: [], events: [], jobs })
      const began = performance.now()
      const claimed = yield* port.claim({ now: Date.now(), lease_ms: 60_000, limit: jobsEach })
      times.push(performance.now() - began)
      if (claimed.jobs.length < jobsEach) return yield* Effect.die(new Error("Not all due jobs were claimed"))
      yield* Effect.forEach(
        claimed.jobs,
        ({ workspace_id, number, lease }) =>
          port.commit({
            ...renumbered(sample, 1, 0),
            workspace_id,
            writes: [],
            events: [],
            jobs: [],
            finishes: [{ workspace_id, number, lease }]
          }),
        { concurrency: "unbounded", discard: true }
      )
    }
    return { p50_ms: percentile(Float64Array.from(times), 0.5) }
  })

/** The ID of a quote's copy with this number. */
export const copyOf = (id: string, n: number): string => id.slice(0, -counted) + String(n).padStart(counted, "0")

if (import.meta.main) {
  Child.answer((question: Question): Promise<unknown> => {
    if (question.ask === "listen") return listen(question.url)
    if (question.ask === "claim") return run(claim(question.sample, question.claims))
    return run(cursors(question.events, question.count))
  })
}
