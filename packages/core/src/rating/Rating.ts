import type { CarrierAsk, CarrierReply, DeclineReason } from "../carriers/Carrier.ts"
import { type StateCode, servedStates } from "../lines/State.ts"
import type { Subject } from "../lines/Subject.ts"
import { dayOf } from "./calendar.ts"
import type { Rated } from "./Rated.ts"

/** A priced risk, with what the offer takes over from the facts. */
export interface Priced extends Rated {
  readonly billing_cycle: string
  readonly subjects: ReadonlyArray<Subject>
}

type Questions = Extract<CarrierReply, { readonly kind: "question" }>["questions"]

/** What the fictional carriers of a line are like, whatever is asked. */
interface Traits {
  /** The line, as it travels. */
  readonly line: string
  /** The carriers that offer it: their names, and how long they usually take, in seconds. */
  readonly carriers: { readonly [carrier_id: string]: { readonly name: string; readonly latency: number } }
  /** States in which a carrier does not offer it. */
  readonly not_served: { readonly [carrier_id: string]: ReadonlyArray<StateCode> }
  /** What the line is called in the name of a product. */
  readonly product: string
  /** For how many days an offer stands. */
  readonly valid_days: number
  /** What a carrier asks in the scenario in which one has a question. */
  readonly questions: Questions
  /** Why carriers decline in the scenarios in which they do. */
  readonly scripted_decline: DeclineReason
}

/** What a rating is made from: `Facts` are the complete facts of the line. Days are `YYYY-MM-DD`. */
export interface Definition<Facts> extends Traits {
  /** Why a carrier's own rules are against a risk; null where they are not. */
  readonly decline: (carrier_id: string, facts: Facts, today: string) => DeclineReason | null
  /** The price of a risk; null where the carrier does not offer the line. */
  readonly price: (carrier_id: string, facts: Facts, today: string) => Priced | null
}

/** How the fictional carriers rate a line. */
export interface Rating extends Traits {
  /** Why a carrier's own rules are against a risk; null where they are not. */
  readonly decline: (carrier_id: string, ask: CarrierAsk) => DeclineReason | null
  /** The price of a risk; null where the carrier does not offer the line. */
  readonly price: (carrier_id: string, ask: CarrierAsk) => Priced | null
}

/** Makes the rating of a line. */
export const make = <Facts>(definition: Definition<Facts>): Rating => {
  // An ask holds the facts of its line: that is what the engine asks with.
  const isOfLine = (ask: CarrierAsk): ask is CarrierAsk<Facts> => ask.line === definition.line
  // The day of the quote request, so that looking again gives the same.
  const today = (ask: CarrierAsk): string => dayOf(ask.requested_at)
  return {
    ...definition,
    decline: (carrier_id, ask) => (isOfLine(ask) ? definition.decline(carrier_id, ask.facts, today(ask)) : null),
    price: (carrier_id, ask) => (isOfLine(ask) ? definition.price(carrier_id, ask.facts, today(ask)) : null)
  }
}

/** The states in which a carrier offers the line of a rating. */
export const statesOf = ({ not_served }: Rating, carrier_id: string): ReadonlyArray<StateCode> => {
  const left_out = not_served[carrier_id] ?? []
  return servedStates.filter((state) => !left_out.includes(state))
}
