import { Predicate, Schema } from "effect"
import { CallerKind } from "../access/Caller.ts"
import * as Kind from "../storage/Kind.ts"
import type { FieldError } from "../wire/ApiError.ts"
import { FeedbackId, KeyId, RequestId } from "../wire/Ids.ts"
import { isLonger, textUpTo } from "../wire/Input.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"
import * as PersonalNumber from "./PersonalNumber.ts"

/** What a report can be about (api.md, Feedback reports). */
export const kinds = ["missing_feature", "bug", "unclear_error", "unclear_docs", "other"] as const
/** The states of a report. A new report is `received`. */
export const statuses = ["received", "planned", "shipped", "declined"] as const
/** What operators can decide about a report. */
export type Decision = Exclude<(typeof statuses)[number], "received">

/** The maximum length of a text in a report. Longer text is refused without being searched for personal numbers. */
const maxAccountCharacters = 2_000

const Name = textUpTo(200)
const Account = textUpTo(maxAccountCharacters)

/** A report about the API as a caller sends it. It must contain nothing about a person. */
export const SendInput = Schema.Struct({
  kind: Schema.Literals(kinds).annotateKey({ description: "What kind of report it is" }),
  summary: textUpTo(200, 1).annotateKey({
    description: "One sentence"
  }),
  expected: Account.annotateKey({ description: "What should have happened" }),
  actual: Account.annotateKey({ description: "What happened instead" }),
  tried: Schema.optionalKey(
    Schema.Struct({
      operation: Schema.optionalKey(Name).annotateKey({ description: "The operation or tool that was tried" }),
      tool: Schema.optionalKey(Name).annotateKey({ description: "The tool that was tried" }),
      request_ids: Schema.optionalKey(
        Schema.Array(RequestId).check(Schema.isMaxLength(20, { expected: "a list of at most 20 identifiers" }))
      ).annotateKey({
        description: "The Request-Id of each response that the report is about"
      })
    })
  ).annotateKey({ description: "What was tried" }),
  agent: Schema.optionalKey(
    Schema.Struct({
      name: Schema.optionalKey(Name).annotateKey({ description: "The name of the program" }),
      version: Schema.optionalKey(Name).annotateKey({ description: "Its version" })
    })
  ).annotateKey({ description: "The program that sends the report" })
})
export type SendInput = typeof SendInput.Type

/** A report as callers can read it: its status, without its text (api.md, Feedback reports). */
export const FeedbackReport = Schema.Struct({
  feedback_id: FeedbackId.annotateKey({ description: "The identifier of the report" }),
  kind: Schema.Literals(kinds).annotateKey({ description: "What kind of report it is" }),
  status: Schema.Literals(statuses).annotateKey({ description: "Its status" }),
  public_note: Schema.NullOr(Schema.String).annotate({ description: "A note from the service" }),
  created_at: Timestamp.annotateKey({ description: "When it was sent" })
}).annotate({ identifier: "FeedbackReport" })
export type FeedbackReport = typeof FeedbackReport.Type

/** A report as stored. Only operators see the whole report. */
export const StoredReport = Schema.Struct({
  version: Schema.Int,
  report: FeedbackReport,
  sent: SendInput,
  sent_by: Schema.Struct({ kind: CallerKind, key_id: Schema.NullOr(KeyId) })
})
export type StoredReport = typeof StoredReport.Type

/** The record kind for reports, keyed by ID. */
export const kind = Kind.make({
  name: "feedback",
  schema: StoredReport,
  sealed: true,
  survives_reset: true,
  kept_for: { period: "feedback", clock: "workspace" },
  listing: ({ report }) => ({ status: report.status })
})

/** Makes a new report, received at `now` in workspace time. */
export const receive = (
  feedback_id: FeedbackId,
  input: SendInput,
  sent_by: StoredReport["sent_by"],
  now: number
): StoredReport => ({
  version: 1,
  report: { feedback_id, kind: input.kind, status: "received", public_note: null, created_at: fromMillis(now) },
  sent: input,
  sent_by
})

/** A report after a decision. A later decision replaces an earlier one. */
export const decide = (report: StoredReport, status: Decision, public_note: string | null): StoredReport => ({
  ...report,
  version: report.version + 1,
  report: { ...report.report, status, public_note }
})

const personal = "This looks like a personal number. Remove it and send again."

/** Finds the texts in an input that seem to contain a personal number, even if the input is invalid. */
export const personalTexts = (input: unknown): ReadonlyArray<FieldError> =>
  Object.entries(textsIn(input)).flatMap(([path, text]) =>
    typeof text === "string" && !isLonger(text, maxAccountCharacters) && PersonalNumber.find(text) !== null
      ? [{ path, message: personal }]
      : []
  )

const textsIn = (input: unknown): Readonly<Record<string, unknown>> => {
  const { actual, agent, expected, summary, tried } = membersOf(input)
  const { name, version } = membersOf(agent)
  const { operation, tool } = membersOf(tried)
  return {
    summary,
    expected,
    actual,
    "tried.operation": operation,
    "tried.tool": tool,
    "agent.name": name,
    "agent.version": version
  }
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> => (Predicate.isObject(value) ? value : {})
