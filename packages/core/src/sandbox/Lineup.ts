import { Function, Schema } from "effect"
import { declineReasons, Question } from "../carriers/Carrier.ts"
import type { ScenarioRole } from "../carriers/script.ts"
import { fictionalPlans } from "../rating/fictionalPlans.ts"
import type { RatePlan } from "../rating/RatePlan.ts"
import { secondMs } from "../wire/Timestamp.ts"
import lineup from "./data/lineup.json" with { type: "json" }

/** A fictional carrier, and how it answers. */
export interface FictionalCarrier {
  readonly id: string
  readonly name: string
  readonly mode: "sync" | "poll" | "callback"
  readonly uses_credit: boolean
  /** The carrier's rate plans, one for each line that it offers. */
  readonly plans: ReadonlyArray<RatePlan>
}

type Character = Pick<FictionalCarrier, "mode" | "uses_credit">

const sync: Character = { mode: "sync", uses_credit: false }

const characters: { readonly [carrier_id: string]: Character } = {
  sbx_harborline: sync,
  sbx_pinecrest: sync,
  sbx_bluefern: { mode: "poll", uses_credit: false },
  sbx_copperline: sync,
  sbx_meridian: { mode: "callback", uses_credit: true },
  sbx_lanternway: sync,
  sbx_brightstoop: sync,
  sbx_pawbridge: sync,
  sbx_tailhaven: sync,
  sbx_whiskerwell: sync
}

/** The schema of a line's scenario data. */
const PlayedLine = Schema.Struct({
  /** The usual latency of each of the line's carriers in seconds, by carrier ID. */
  latency_s: Schema.Record(Schema.String, Schema.Int),
  /** The reason that carriers give when a scenario makes them decline. */
  scripted_decline: Schema.Literals(declineReasons),
  /** The questions that a carrier asks in the `action_required` scenario. */
  questions: Schema.Array(Question)
})
/** The scenario data of a line. */
export type PlayedLine = typeof PlayedLine.Type

const lines = new Map(Object.entries(Schema.decodeUnknownSync(Schema.Record(Schema.String, PlayedLine))(lineup)))

/** The scenario data of a line; undefined if no fictional carrier offers the line. */
export const playedLine = (line: string): PlayedLine | undefined => lines.get(line)

/** The carriers of a line, fastest first, with their roles in the line's scenarios. */
const lineupOf = (line: string, { latency_s }: PlayedLine): ReadonlyMap<string, ScenarioRole> => {
  const sorted = Object.entries(latency_s).toSorted(([, a], [, b]) => a - b)
  return new Map(
    sorted.map(([id, latency], position) => [
      id,
      { line, position, count: sorted.length, latency_ms: latency * secondMs }
    ])
  )
}

const roles = new Map(Array.from(lines, ([line, played]) => [line, lineupOf(line, played)]))

/** A carrier's role in a line's scenarios; undefined if the carrier does not offer the line. */
export const roleOf = (carrierId: string, line: string): ScenarioRole | undefined => roles.get(line)?.get(carrierId)

/** All fictional carriers, each listed once, ordered by line and then by latency. */
export const fictionalCarrierList = (): ReadonlyArray<FictionalCarrier> => carriersOf(fictionalPlans())

const carriersOf = Function.memoize((ratePlans: ReadonlyArray<RatePlan>) =>
  Object.entries(characters).flatMap(([id, character]) => {
    const plans = ratePlans.filter(({ carrier }) => carrier.id === id)
    const [first] = plans
    return first === undefined ? [] : [{ ...first.carrier, ...character, plans }]
  })
)
