import { PgConnection } from "@effect/sql-pg"
import { type Change, Storage } from "@quotewire/core"
import { Effect, ManagedRuntime, Redacted } from "effect"
import { Client } from "pg"
import * as changes from "../../packages/storage-pg/src/changes/commit.ts"
import { wireTypes } from "../../packages/storage-pg/src/rows/wireTypes.ts"
import * as Child from "../Child.ts"
import { percentile } from "../statistics.ts"
import { storage } from "./Databases.ts"
import * as sameRows from "./sameRows.ts"
import { renumbered } from "./start.ts"

/** Tells a process to write changes. */
export interface WriteOptions {
  /**
   * How to write changes. `port`: through the storage port. `statement`: with the storage's own statement, on a bare
   * connection. `pg`: one statement for each change with the `pg` package, and a connection for each lane.
   */
  readonly by: "port" | "statement" | "pg"
  readonly url: string
  readonly sample: Change.Change
  readonly workspaces: number
  readonly at_once: number
  readonly seconds: number
  /** The number of the first change. */
  readonly from: number
}

/** How many changes were written per second, and the median time of a change. */
export interface WriteRound {
  readonly per_second: number
  readonly p50_ms: number
}

/** Writes in this many concurrent lanes until the time is over. Each lane writes one change after the other. */
const inLanes = async (
  lanes: number,
  seconds: number,
  write: (lane: number) => Promise<unknown>
): Promise<WriteRound> => {
  const latencies: Array<number> = []
  const began = performance.now()
  const endsAt = began + seconds * 1e3
  const lane = async (_: unknown, index: number) => {
    for (let now = performance.now(); now < endsAt; ) {
      const sentAt = now
      await write(index)
      now = performance.now()
      latencies.push(now - sentAt)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const per_second = latencies.length / ((performance.now() - began) / 1e3)
  return { per_second, p50_ms: percentile(Float64Array.from(latencies), 0.5) }
}

const throughPort = async ({ url, sample, workspaces, at_once, seconds, from }: WriteOptions): Promise<WriteRound> => {
  const runtime = ManagedRuntime.make(storage(url))
  const port = await runtime.runPromise(Storage.Storage)
  let n = from
  const write = () => {
    n++
    return Effect.runPromise(port.commit(renumbered(sample, 1 + (n % workspaces), n)))
  }
  const written = await inLanes(at_once, seconds, write)
  await runtime.dispose()
  return written
}

const byStatement = ({ url, sample, workspaces, seconds, from }: WriteOptions): Promise<WriteRound> =>
  Effect.gen(function* () {
    const connection = yield* PgConnection.make({ url: Redacted.make(url), types: wireTypes })
    let n = from
    return yield* Effect.promise(() =>
      inLanes(1, seconds, () => {
        n++
        const change = renumbered(sample, 1 + (n % workspaces), n)
        return Effect.runPromise(connection.query(changes.statement, changes.parameters([change])))
      })
    )
  }).pipe(Effect.scoped, Effect.runPromise)

const throughPg = async ({ url, sample, workspaces, at_once, seconds }: WriteOptions): Promise<WriteRound> => {
  const clients = Array.from({ length: at_once }, () => new Client(url))
  await Promise.all(clients.map((client) => client.connect()))
  const text = sameRows.statement(sample)
  const texts = sameRows.textsOf(sample)
  let n = 0
  const written = await inLanes(at_once, seconds, async (lane) =>
    clients[lane]?.query({ name: "change", text, values: [1 + (++n % workspaces), ...texts] })
  )
  await Promise.all(clients.map((client) => client.end()))
  return written
}

if (import.meta.main) {
  const ways = { port: throughPort, statement: byStatement, pg: throughPg }
  Child.answer((writing: WriteOptions) => ways[writing.by](writing))
}
