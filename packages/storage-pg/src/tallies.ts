import type { Storage } from "@quotewire/core"
import { Schema } from "effect"
import { int8Of, int8s, texts } from "./columns.ts"

/** Adds to counts, and answers their totals in order. */
export const statement = "select total from quotewire.tally_1($1, $2, $3, $4, $5, $6)"

/** The parameters of the statement. */
export const parameters = (now: number, tallies: ReadonlyArray<Storage.Tally>): ReadonlyArray<unknown> => [
  int8Of(now),
  texts(tallies.map(({ workspace_id }) => workspace_id)),
  texts(tallies.map(({ name }) => name)),
  int8s(tallies.map(({ window_start }) => window_start)),
  int8s(tallies.map(({ window_ms }) => window_ms)),
  int8s(tallies.map(({ added }) => added))
]

const Totals = Schema.Array(Schema.Struct({ total: Schema.Int }))
const decode = Schema.decodeUnknownSync(Totals)

/** Reads the totals. */
export const read = (rows: unknown): ReadonlyArray<number> => decode(rows).map(({ total }) => total)

/** Forgets counts whose windows are over, some at a time; those that somebody is at come another time. */
export const sweepStatement = `delete from quotewire.tally where (workspace_id, name, window_start, window_ms) in (
  select workspace_id, name, window_start, window_ms from quotewire.tally
  where window_start + window_ms <= $1 order by window_start + window_ms limit 1000 for update skip locked
)`

/** How often one host sweeps, in milliseconds of the clock that the counts go by. */
export const sweep_every_ms = 10_000
