import type { CarrierAsk, CarrierReply, DeclineReason } from "../carriers/Carrier.ts"
import type { Subject } from "../lines/Application.ts"
import { type StateCode, servedStates } from "../lines/State.ts"
import { dayOf } from "./calendar.ts"
import type { Rated } from "./Rated.ts"

/** A priced risk, with what the offer copies from the facts. */
export interface Priced extends Rated {
  readonly billing_cycle: string
  readonly subjects: ReadonlyArray<Subject>
}

type Questions = Extract<CarrierReply, { readonly kind: "question" }>["questions"]

/** The fixed properties of the fictional carriers of a line. */
interface Traits {
  /** The name of the line. */
  readonly line: string
  /** The carriers that offer it: their names and usual latencies, in seconds. */
  readonly carriers: { readonly [carrier_id: string]: { readonly name: string; readonly latency: number } }
  /** The states in which a carrier does not offer it. */
  readonly not_served: { readonly [carrier_id: string]: ReadonlyArray<StateCode> }
  /** The line in product names. */
  readonly product: string
  /** How many days an offer is valid. */
  readonly valid_days: number
  /** The questions that a carrier asks in the scenario `carrier_question`. */
  readonly questions: Questions
  /** The reason that carriers give in scenarios in which they decline. */
  readonly scripted_decline: DeclineReason
}

/** The definition of a rating. `Facts` are the complete facts of the line. Days are `YYYY-MM-DD`. */
export interface Definition<Facts> extends Traits {
  /** Why a carrier's own rules decline a risk; null if they accept it. */
  readonly decline: (carrier_id: string, facts: Facts, today: string) => DeclineReason | null
  /** The price of a risk; null if the carrier does not offer the line. */
  readonly price: (carrier_id: string, facts: Facts, today: string) => Priced | null
}

/** How the fictional carriers rate a line. */
export interface Rating extends Traits {
  /** Why a carrier's own rules decline a risk; null if they accept it. */
  readonly decline: (carrier_id: string, ask: CarrierAsk) => DeclineReason | null
  /** The price of a risk; null if the carrier does not offer the line. */
  readonly price: (carrier_id: string, ask: CarrierAsk) => Priced | null
}

/** Makes the rating of a line. */
export const make = <Facts>(definition: Definition<Facts>): Rating => {
  // The engine always asks with the facts of the line in `ask.line`.
  const isOfLine = (ask: CarrierAsk): ask is CarrierAsk<Facts> => ask.line === definition.line
  // The day of the quote request, so that a refresh gives the same price.
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
