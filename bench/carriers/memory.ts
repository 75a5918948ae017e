import { type Ids, Quotewire, Storage } from "@quotewire/core"
import { Effect, Layer, ManagedRuntime } from "effect"
import * as Child from "../Child.ts"
import * as Flags from "../flags.ts"
import { print, type Table } from "../report.ts"
import { carrier_id, make } from "./carrier.ts"
import * as carrierApi from "./carrierApi.ts"
import * as service from "./service.ts"

/** Asks to go on at the carrier at this address, until there were so many asks. */
interface Level {
  readonly url: string
  readonly asks: number
}

/** What the process holds after so many asks, when everything that can go has gone. */
export interface AtLevel {
  readonly asks: number
  readonly heap_bytes: number
  /** Outside of the heap: buffers of the runtime. */
  readonly external_bytes: number
  readonly seconds: number
}

/** So many requests are started and asked at a time; then the storage forgets them. */
const batch = 500

/** Memory that counts quotes, and that can forget what it has stored without a word about it. */
const forgetful = (progress: { quotes: number }) =>
  service.memoryWith((storage) => ({
    commit: (change) =>
      Effect.map(storage.commit(change), () => {
        progress.quotes += service.quotesIn(change)
      }),
    // Whoever caches something of a workspace is not told that it is empty, so its caches stay.
    watch: (listener) =>
      storage.watch((hint) => {
        if (hint.about !== "workspace") listener(hint)
      })
  }))

/** A service that is asked on and on. */
interface Asking {
  readonly upTo: (asks: number) => Promise<void>
}

const begin = async (url: string): Promise<Asking> => {
  const progress = { quotes: 0 }
  const settings = { carriers: [make(carrier_id, url)], recorded: "all", connections: 64 } as const
  const runtime = ManagedRuntime.make(
    Quotewire.worker.pipe(Layer.provideMerge(service.core(forgetful(progress), settings)))
  )
  const { key, workspace_id } = await runtime.runPromise(service.makeWorkspace([carrier_id]))
  const some = Effect.gen(function* () {
    const until = progress.quotes + batch
    for (let i = 0; i < batch; i++) yield* service.start(key)
    while (progress.quotes < until) yield* Effect.sleep(1)
    yield* forget(workspace_id)
  })
  return {
    upTo: (asks) =>
      runtime.runPromise(Effect.whileLoop({ while: () => progress.quotes < asks, body: () => some, step: () => {} }))
  }
}

const forget = (workspace_id: Ids.WorkspaceId) =>
  Effect.flatMap(Storage.Storage, (storage) => storage.erase({ what: "workspace", workspace_id }))

let asking: Promise<Asking> | null = null

/** Started by `run`, this script is the service. */
const measure = async ({ url, asks }: Level): Promise<AtLevel> => {
  const began = performance.now()
  asking ??= begin(url)
  await (await asking).upTo(asks)
  const seconds = (performance.now() - began) / 1e3
  globalThis.gc?.()
  globalThis.gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return { asks, heap_bytes: heapUsed, external_bytes: external, seconds }
}

/** Asks a carrier more and more often through one service, and looks at its memory. */
export const run = async (levels: ReadonlyArray<number>): Promise<ReadonlyArray<AtLevel>> => {
  const api = carrierApi.start()
  const child = Child.start("carriers/memory.ts", Child.cores.server, { node: ["--expose-gc"] })
  const all: Array<AtLevel> = []
  try {
    const { url } = await api.listen(null)
    for (const asks of levels) {
      all.push(await child.ask<AtLevel>({ url, asks }))
      const { asks: got } = await api.got()
      if (got !== asks) throw new Error(`The carrier has got ${got} of ${asks} asks`)
      process.stderr.write(`carriers_memory: ${asks}\n`)
    }
  } finally {
    await Promise.all([api.stop(), child.stop()])
  }
  return all
}

/** The levels that are measured: all of them are whole batches. */
export const levelsOf = ({ quick }: Flags.Flags): ReadonlyArray<number> =>
  quick ? [500, 1_000, 2_000] : [10_000, 50_000, 100_000]

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(2)} MB`

/** The levels as they are printed: beside each heap what every ask since the first level has added to it. */
export const tableOf = (levels: ReadonlyArray<AtLevel>): Table => {
  const first = levels[0]
  const grown = ({ asks, heap_bytes }: AtLevel): string =>
    first === undefined || asks === first.asks
      ? ""
      : `${((heap_bytes - first.heap_bytes) / (asks - first.asks)).toFixed(0)} bytes`
  return {
    name: "carriers_memory",
    title: "Memory after so many asks of a carrier, while the storage keeps no request (everything recorded)",
    columns: ["asks", "heap", "more heap per ask since the first row", "outside of the heap"],
    rows: levels.map((level) => [
      level.asks.toLocaleString("en-US"),
      megabytes(level.heap_bytes),
      grown(level),
      megabytes(level.external_bytes)
    ]),
    how: "one run",
    numbers: levels
  }
}

if (import.meta.main) {
  if (process.send === undefined) print(tableOf(await run(levelsOf(Flags.read()))))
  else Child.answer(measure)
}
