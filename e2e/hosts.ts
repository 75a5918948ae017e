import { describe, layer, type Vitest } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { citusUrl, oneCell } from "../packages/storage-pg/test/support/citus.ts"
import { scopedDatabase } from "../test/support/TestDatabase.ts"
import { connected, type Host, http, tools } from "./host.ts"
import { inExpress, overWeb } from "./mounted.ts"

/** PostgreSQL with its own database for the lifetime of the layer. */
export const pgStorage = Layer.unwrap(Effect.map(scopedDatabase, ({ options }) => PgStorage.layer(options)))

/** A row of the table of hosts. */
interface Row {
  readonly name: string
  readonly host: Layer.Layer<Host, unknown>
  /** Whether long tables are run completely here; otherwise only a sample is run. */
  readonly whole: boolean
}

const overRest: ReadonlyArray<Row> = [
  { name: "over REST, in memory", host: http(MemoryStorage.layer), whole: true },
  { name: "over REST, in PostgreSQL", host: http(pgStorage), whole: false },
  // Only if there is a cluster, named by QUOTEWIRE_TEST_CITUS_URL.
  ...(citusUrl === undefined ? [] : [{ name: "over REST, on Citus", host: http(oneCell), whole: false }])
]
const byTools: ReadonlyArray<Row> = [
  { name: "by tools, in memory", host: tools(MemoryStorage.layer), whole: false },
  { name: "by tools, in PostgreSQL", host: tools(pgStorage), whole: false }
]
const inPrograms: ReadonlyArray<Row> = [
  { name: "in Express, by nodeHandler", host: inExpress, whole: false },
  { name: "over Web requests, by webHandler", host: overWeb, whole: false }
]

const byClient: ReadonlyArray<Row> = [
  { name: "by the client, in memory", host: connected(MemoryStorage.layer), whole: false }
]

/** Tests that are written once and run on every host of a table. */
type Journeys = (it: Vitest.MethodsNonLive<Host>, row: Pick<Row, "whole">) => void

const on = (rows: ReadonlyArray<Row>) => (name: string, journeys: Journeys) =>
  describe.each(rows)(`${name} ($name)`, (row) =>
    layer(row.host, { excludeTestServices: true, timeout: "60 seconds" })((it) => journeys(it, row))
  )

/** Journeys by operation name: over REST and through tools on every storage backend, and through the client. */
export const onEveryHost = on([...overRest, ...byTools, ...byClient])

/** Journeys by operation name: on every host, and mounted in other servers. */
export const everywhere = on([...overRest, ...byTools, ...byClient, ...inPrograms])

/** Journeys over REST only, on every storage backend. */
export const onEveryStorage = on(overRest)
