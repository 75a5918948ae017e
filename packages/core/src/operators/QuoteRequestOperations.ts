import { Effect, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { Workspaces } from "../access/Workspaces.ts"
import { type TimelineOptions, Timelines } from "../timeline/Timelines.ts"
import * as ApiError from "../wire/ApiError.ts"
import { OrganizationId, QuoteRequestId } from "../wire/Ids.ts"
import { wholeNumber } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import { FoundRequest, SearchInput } from "./FoundRequest.ts"
import * as OperatorOperation from "./OperatorOperation.ts"
import type { Operator } from "./OperatorToken.ts"
import { QuoteRequestSearch } from "./QuoteRequestSearch.ts"

const tag = "Quote requests"

/** Finds quote requests across organizations. */
export const findQuoteRequests = OperatorOperation.make({
  name: "find_quote_requests",
  summary: "Find quote requests",
  description:
    "Quote requests of all organizations that the token reaches, newest first; beyond a hundred workspaces, one group of a hundred after another. All filters must match, and must be sent with every page. A page can be short and yet have a next_cursor: read until next_cursor is null.",
  tag,
  route: {
    method: "GET",
    path: "/operator/v1/quote-requests",
    query: {
      limit: "integer",
      cursor: "string",
      organization_id: "string",
      environment: "string",
      status: "string",
      reason: "string",
      line: "string",
      ended: "string",
      carrier_id: "string",
      carrier_outcome: "string",
      created_after: "string",
      created_before: "string",
      id: "string"
    },
    status: 200
  },
  scope: "read",
  reach: "organization",
  input: SearchInput,
  output: Schema.Struct({
    quote_requests: Schema.Array(FoundRequest).annotateKey({ description: "The requests, newest first" }),
    next_cursor: Schema.NullOr(Schema.String).annotateKey({
      description: "The `cursor` of the next page; null on the last one"
    })
  }),
  errors: ["invalid_cursor", "not_found"],
  run: Effect.fnUntraced(function* ({ organization_id }, input) {
    const search = yield* QuoteRequestSearch
    return Json.encode(yield* search.find({ ...input, ...(organization_id !== null && { organization_id }) }))
  })
})

const TimelineInput = Schema.Struct({
  id: QuoteRequestId.annotateKey({ description: "The quote request, `qreq_…`" }),
  after: Schema.optionalKey(wholeNumber(0)).annotateKey({
    description: "How many entries to skip: `next` of the previous page"
  }),
  limit: Schema.optionalKey(wholeNumber(1, 1_000)).annotateKey({
    description: "Entries on a page, 1 to 1000; 200 by default"
  })
})

const Entry = Schema.Struct({
  at: Timestamp.annotate({ description: "When it happened, in the time of the workspace" }),
  what: Schema.String.annotateKey({ description: "The kind of entry. New kinds can be added" }),
  details: Schema.Record(Schema.String, Schema.Unknown).annotateKey({ description: "What is known; depends on `what`" })
}).annotate({ identifier: "TimelineEntry" })

const TimelineAnswer = Schema.Struct({
  quote_request_id: QuoteRequestId.annotateKey({ description: "The quote request" }),
  organization_id: OrganizationId.annotateKey({ description: "The organization that started it" }),
  environment: Environment.annotateKey({ description: "The environment that it runs in" }),
  line: Schema.String.annotateKey({ description: "The insurance line" }),
  status: Schema.String.annotateKey({ description: "Its status" }),
  reason: Schema.String.annotateKey({ description: "The reason for the status" }),
  entries: Schema.Array(Entry).annotateKey({ description: "What happened, oldest first" }),
  next: Schema.NullOr(Schema.Int).annotateKey({ description: "The `after` of the next page; null at the end" }),
  incomplete: Schema.Array(Schema.String).annotateKey({
    description: "The kinds of entry that may be incomplete, because there was too much to search"
  })
}).annotate({ identifier: "Timeline" })
type TimelineAnswer = typeof TimelineAnswer.Encoded

const subjectOf = ({ id }: typeof TimelineInput.Type, answer: TimelineAnswer | null) => ({
  quote_request_id: id,
  ...(answer !== null && { organization_id: answer.organization_id })
})

const page = { after: "integer", limit: "integer" } as const

/** Reads what happened to a quote request, without the carriers' own words. */
export const getTimeline = OperatorOperation.make({
  name: "get_quote_request_timeline",
  summary: "Read what happened to a quote request",
  description:
    "The call that started it, which carriers were asked and with what outcome, exchanges with carriers, quotes, events and deliveries, oldest first. Without the bodies of exchanges and the words of carriers, which can hold facts about the person.",
  tag,
  route: { method: "GET", path: "/operator/v1/quote-requests/{id}/timeline", query: page, status: 200 },
  scope: "read",
  reach: "organization",
  input: TimelineInput,
  output: TimelineAnswer,
  errors: ["not_found"],
  about: subjectOf,
  run: (operator, { id, ...options }) =>
    Effect.map(read(operator, id, options), ({ entries, ...rest }) =>
      Json.encode({ ...rest, entries: entries.map(withoutWords) })
    )
})

/** Reads the exchanges with carriers for a quote request, with their bodies. */
export const readExchanges = OperatorOperation.make({
  name: "read_quote_request_exchanges",
  summary: "Read the exchanges with carriers, with their bodies",
  description:
    "What happened to a quote request, with the recorded bodies of exchanges and the words of carriers: facts about the person. It is a POST, because it is an act: the audit log names who read them, before they are read.",
  tag,
  route: { method: "POST", path: "/operator/v1/quote-requests/{id}/exchanges", query: {}, status: 200 },
  scope: "facts",
  reach: "organization",
  input: TimelineInput,
  output: TimelineAnswer,
  errors: ["not_found"],
  about: subjectOf,
  run: (operator, { id, ...options }) =>
    Effect.map(read(operator, id, { ...options, bodies: true }), (answer) => Json.encode(answer))
})

/** A timeline, and its organization. Fails with `not_found` if the operator's token cannot access the organization. */
const read = Effect.fnUntraced(function* (operator: Operator, id: string, options: TimelineOptions) {
  const { entries, workspace_id, ...timeline } = yield* (yield* Timelines).read(id, options)
  const { workspace } = yield* (yield* Workspaces).cached(workspace_id)
  const { organization_id } = workspace
  if (operator.organization_id !== null && operator.organization_id !== organization_id) {
    return yield* ApiError.make("not_found")
  }
  return {
    ...timeline,
    organization_id,
    entries: entries.map((entry) => ({ ...entry, details: { ...entry.details } }))
  }
})

type EntryView = typeof Entry.Type

/** A timeline entry without the carrier's own words, which can repeat facts about the person. */
const withoutWords = (entry: EntryView): EntryView =>
  "message" in entry.details ? { ...entry, details: { ...entry.details, message: null } } : entry
