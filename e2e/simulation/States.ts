import { Option, Schema } from "effect"
import type { Ledger } from "./Ledger.ts"
import type { Readings } from "./Observer.ts"
import * as SimulatedCryptography from "./SimulatedCryptography.ts"
import type { Stored } from "./SimulatedStorage.ts"

/*
 * The states that requests, carrier results, quotes and deliveries pass through, observed in storage.
 */

const Details = { status: Schema.String, status_details: Schema.Struct({ reason: Schema.String }) }
const Result = Schema.Struct({
  carrier: Schema.Struct({ name: Schema.String }),
  outcome: Schema.String,
  reason: Schema.NullOr(Schema.String)
})
const Request = Schema.Struct({ ...Details, carriers: Schema.Array(Result) })

const decodeRequest = Schema.decodeUnknownOption(Schema.fromJsonString(Request))
const decodeQuote = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct(Details)))
const decodeDelivery = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ status: Schema.String })))

/** The states in a record, each with the name of its subject. */
const statesOf = ({
  body,
  id,
  kind
}: Stored["writes"][number]): ReadonlyArray<readonly [of: string, what: string, state: string]> => {
  const text = SimulatedCryptography.opened(body) ?? body
  switch (kind) {
    case "quote_request":
      return Option.match(decodeRequest(text), {
        onNone: () => [],
        onSome: ({ carriers, status, status_details: { reason } }) => [
          [id, "request", `${status} ${reason}`],
          ...carriers.map(
            ({ carrier, outcome, reason: why }) =>
              [`${id} ${carrier.name}`, "result", why === null ? outcome : `${outcome} ${why}`] as const
          )
        ]
      })
    case "quote":
      return Option.match(decodeQuote(text), {
        onNone: () => [],
        onSome: ({ status, status_details: { reason } }) => [[id, "quote", `${status} ${reason}`]]
      })
    case "delivery":
      return Option.match(decodeDelivery(text), {
        onNone: () => [],
        onSome: ({ status }) => [[id, "delivery", status]]
      })
    default:
      return []
  }
}

/** Observes every change of a story, and records what it reaches. */
export type Watch = (ledger: Ledger) => (change: Stored) => void

/** Records no states, so that a story plays faster. */
export const unwatched: Watch = () => () => {}

/** Records which states and transitions the changes of one story reach. */
export const watched: Watch = ({ reached }) => {
  const states = new Map<string, string>()
  return ({ writes }) => {
    for (const [of, what, state] of writes.flatMap(statesOf)) {
      const before = states.get(of)
      if (before === state) continue
      states.set(of, state)
      reached.add(`${what}: ${state}`)
      if (before !== undefined) reached.add(`${what}: ${before} → ${state}`)
    }
  }
}

/** Records the types of events. */
export const noteReadings = ({ reached }: Ledger, readings: Readings): void => {
  for (const { feed } of readings.values()) for (const { type } of feed) reached.add(`event: ${type}`)
}
