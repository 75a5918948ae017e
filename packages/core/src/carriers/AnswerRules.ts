import { Cause, Effect, Predicate, Record, Result, Schema } from "effect"
import { isLarge, isRecord } from "../wire/BoundedDecoder.ts"
import { type BrokenRule, fromFieldError, rule, ruleText } from "../wire/BrokenRule.ts"
import type { FieldError } from "../wire/FieldError.ts"
import * as Input from "../wire/Input.ts"
import { dayMs, fromDate } from "../wire/Timestamp.ts"
import { type CarrierAdapter, CarrierRefresh, CarrierReply, ConnectionTest, Declined } from "./Carrier.ts"
import * as ExchangeDraft from "./recorder/ExchangeDraft.ts"

/* Reads adapters' answers, finds the rules that they break, and logs these rules. */

/** The rule that a `pending` reply breaks if the adapter has no function that could obtain the answer. */
export const ofPending = (
  { callback, poll, simulation }: Pick<CarrierAdapter, "callback" | "poll" | "simulation">,
  { poll_after_ms }: Extract<CarrierReply, { readonly kind: "pending" }>
): ReadonlyArray<BrokenRule> =>
  poll_after_ms === null
    ? rule(callback !== undefined || simulation !== undefined, "poll_after_ms", noCallback)
    : poll === undefined
      ? [noPoll]
      : []

const noCallback = "Must say when to poll, because the adapter has no callback."
/** The rule that a `pending` reply with `poll_after_ms` breaks if the adapter has no `poll`. */
export const noPoll: BrokenRule = {
  path: "poll_after_ms",
  message: "Must be null, because the adapter has no poll."
}

/**
 * Logs why an adapter's answer was dropped, and adds this to the record of the exchange. `cause` shows where the rules
 * were broken.
 */
export const log = (rules: ReadonlyArray<BrokenRule>, cause: Cause.Cause<unknown> = Cause.empty): Effect.Effect<void> =>
  Effect.logWarning("Dropped a carrier's answer that breaks the rules", cause).pipe(
    Effect.andThen(ExchangeDraft.note((draft) => draft.broke(rules))),
    Effect.annotateLogs(annotation(rules))
  )

/** Broken rules as a log annotation. The annotation is empty if no rule is broken. */
export const annotation = (rules: ReadonlyArray<BrokenRule>): { readonly broken_rules?: string } => {
  if (rules.length === 0) return {}
  return { broken_rules: rules.slice(0, maxLogged).map(ruleText).join(" ") }
}

const maxLogged = 20

interface Member extends Schema.Decoder<unknown> {
  readonly fields: { readonly kind: { readonly literal: string } }
}

/**
 * Makes a function that finds the rules an answer breaks. The function checks only the rules for the answer's own
 * `kind`, so that every message applies to the answer.
 */
const findIn = (members: ReadonlyArray<Member>) => {
  const kinds = members.map(({ fields }) => fields.kind.literal)
  const finders = new Map(members.map((member) => [member.fields.kind.literal, Input.findings(member)]))
  return (answer: unknown): ReadonlyArray<FieldError> => {
    if (!Predicate.isObject(answer)) return [{ path: "", message: "The answer must be an object." }]
    const find = typeof answer.kind === "string" ? finders.get(answer.kind) : undefined
    return find === undefined
      ? [{ path: "kind", message: `Must be one of ${kinds.join(", ")}.` }]
      : find(answer).map(fromFieldError)
  }
}

/**
 * Makes a function that reads an answer. The function returns the decoded answer, or the rules that the answer breaks.
 */
const reader =
  <A>(isValid: (answer: unknown) => answer is A, find: (answer: unknown) => ReadonlyArray<FieldError>) =>
  (answer: unknown): Result.Result<A, ReadonlyArray<BrokenRule>> => {
    if (isValid(answer) && !hasLongWait(answer)) return Result.succeed(answer)
    // A large answer cannot be valid, so it is not copied.
    if (isLarge(answer)) return Result.fail(find(answer))
    const read = plain(answer)
    return isValid(read) ? Result.succeed(read) : Result.fail(find(read))
  }

/**
 * Turns an answer into plain data, to tolerate small mistakes in adapters. Removes undefined members, because adapters
 * often set absent optional fields to undefined. Rounds waits to whole milliseconds, and turns a `Date` into text.
 */
const plain = (value: unknown, depth = 0): unknown => {
  if (depth === maxDepth) return value
  if (Predicate.isDate(value)) return fromDate(value)
  if (Array.isArray(value)) return value.map((item: unknown) => plain(item, depth + 1))
  if (!isRecord(value)) return value
  return Record.map(
    Record.filter(value, (member) => member !== undefined),
    (member, name) => (waits.has(name) ? wholeWait(member) : plain(member, depth + 1))
  )
}

const waits: ReadonlySet<string> = new Set(["poll_after_ms", "callback_after_ms", "retry_after_ms", "refresh_after_ms"])

/** Rounds a wait up, because the carrier asked for at least that long, and caps it at a year. */
const wholeWait = (wait: unknown): unknown =>
  typeof wait === "number" && Number.isFinite(wait) ? Math.ceil(Math.max(-maxWaitMs, Math.min(maxWaitMs, wait))) : wait

const maxWaitMs = 366 * dayMs

/** Whether an answer has a wait that `plain` must cap. */
const hasLongWait = (answer: unknown): boolean =>
  isRecord(answer) && Array.from(waits, (name) => answer[name]).some((wait) => Number(wait) > maxWaitMs)

/**
 * The depth at which copying stops. No known part of an answer is nested more deeply, but an unknown member may be, or
 * may even contain itself.
 */
const maxDepth = 8

/** Reads an adapter's reply. */
export const readReply = reader(Schema.is(CarrierReply), findIn(CarrierReply.members))

/** Reads the decline that an adapter's `appetite` returned. */
export const readDecline = reader(Schema.is(Declined), findIn([Declined]))

/** Reads an adapter's answer to `refresh`. */
export const readRefresh = reader(Schema.is(CarrierRefresh), findIn(CarrierRefresh.members))

/** Reads an adapter's answer to `testConnection`. */
export const readConnectionTest = reader(Schema.is(ConnectionTest), Input.findings(ConnectionTest))
