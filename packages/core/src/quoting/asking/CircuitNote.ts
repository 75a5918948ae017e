import { Schema } from "effect"
import type { CircuitChange } from "../../carriers/recorder/ExchangeDraft.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { QuoteRequestId } from "../../wire/Ids.ts"
import { fromMillis, Timestamp } from "../../wire/Timestamp.ts"

/**
 * How a carrier's circuit and a quote request affected each other: the circuit blocked the ask, or the ask's result
 * changed the circuit.
 */
const CircuitNote = Schema.Struct({
  quote_request_id: QuoteRequestId,
  carrier_id: Schema.String,
  /** When the ask was blocked or the circuit changed, in workspace time. */
  at: Timestamp,
  circuit: Schema.Literals(["kept_out", "opened", "stays_open", "closed"]),
  /** When the circuit opened, in real time. */
  since: Timestamp,
  /** When the circuit stops blocking asks, in real time; null if the circuit is closed. */
  until: Schema.NullOr(Timestamp),
  why: Schema.String
})
export type CircuitNote = typeof CircuitNote.Type

/** The record kind for notes, listed by quote request. Notes contain nothing about a person. */
export const kind = Kind.make({
  name: "circuit_note",
  schema: CircuitNote,
  kept_for: { period: "quotes", clock: "workspace" },
  listing: ({ quote_request_id }) => ({ parent: quote_request_id })
})

/** The ask that a note is about, and when it was blocked or changed the circuit, in milliseconds of workspace time. */
interface NoteSubject {
  readonly quote_request_id: QuoteRequestId
  readonly carrier_id: string
  /** The number of the attempt; 0 if the carrier was not asked. */
  readonly attempt: number
  readonly at: number
}

/** The stored note about a request that a circuit blocked, or that changed a circuit. */
export const toStored = (
  { at, attempt, carrier_id, quote_request_id }: NoteSubject,
  circuit: CircuitNote["circuit"],
  { since, until, why }: Pick<CircuitChange, "since" | "until" | "why">
): StoredRecord =>
  kind.record(
    {
      quote_request_id,
      carrier_id,
      at: fromMillis(at),
      circuit,
      since: fromMillis(since),
      until: until === null ? null : fromMillis(until),
      why
    },
    { id: `${quote_request_id} ${carrier_id} ${attempt}`, version: 1, created_at: at, updated_at: at }
  )
