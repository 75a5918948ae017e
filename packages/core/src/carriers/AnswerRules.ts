import { Effect, Predicate, Schema } from "effect"
import { type BrokenRule, ruleText } from "../wire/BrokenRule.ts"
import * as Input from "../wire/Input.ts"
import { CarrierRefresh, CarrierReply, ConnectionTest, Declined } from "./Carrier.ts"
import * as Draft from "./recorder/Draft.ts"

/*
 * The rules that an adapter's answers break, and how they are logged.
 */

/** The rules that an adapter's reply breaks; none if it can be read. */
export const ofReply = (reply: unknown): ReadonlyArray<BrokenRule> => (isReply(reply) ? [] : findInReply(reply))

/** The rules that a decline by an adapter's `appetite` breaks. */
export const ofDecline = (decline: unknown): ReadonlyArray<BrokenRule> =>
  isDecline(decline) ? [] : findInDecline(decline)

/** The rules that an answer to `refresh` breaks. */
export const ofRefresh = (found: unknown): ReadonlyArray<BrokenRule> => (isRefresh(found) ? [] : findInRefresh(found))

/** The rules that an answer to `testConnection` breaks. */
export const ofConnectionTest: (answer: unknown) => ReadonlyArray<BrokenRule> = Input.findings(ConnectionTest)

/** Logs why an answer of an adapter is not used, and adds it to the record of the exchange. */
export const log = (rules: ReadonlyArray<BrokenRule>): Effect.Effect<void> =>
  Effect.logWarning("A carrier's answer breaks rules and is not used").pipe(
    Effect.andThen(Draft.note((draft) => draft.broke(rules))),
    Effect.annotateLogs(annotation(rules))
  )

/** Broken rules as a log line tells them; nothing if there are none. */
export const annotation = (rules: ReadonlyArray<BrokenRule>): { readonly broken_rules?: string } => {
  if (rules.length === 0) return {}
  return { broken_rules: rules.slice(0, max_logged).map(ruleText).join(" ") }
}

const max_logged = 20

interface Member extends Schema.Decoder<unknown> {
  readonly fields: { readonly kind: { readonly literal: string } }
}

/** An answer is one of several kinds. Only the rules of its own kind are checked, so that the messages fit. */
const findIn = (members: ReadonlyArray<Member>) => {
  const kinds = members.map(({ fields }) => fields.kind.literal)
  const finders = new Map(members.map((member) => [member.fields.kind.literal, Input.findings(member)]))
  return (answer: unknown): ReadonlyArray<BrokenRule> => {
    if (!Predicate.isObject(answer)) return [{ path: "", message: "The answer must be an object." }]
    const find = typeof answer.kind === "string" ? finders.get(answer.kind) : undefined
    return find === undefined ? [{ path: "kind", message: `Must be one of ${kinds.join(", ")}.` }] : find(answer)
  }
}

const isReply = Schema.is(CarrierReply)
const isDecline = Schema.is(Declined)
const isRefresh = Schema.is(CarrierRefresh)
const findInReply = findIn(CarrierReply.members)
const findInDecline = findIn([Declined])
const findInRefresh = findIn(CarrierRefresh.members)
