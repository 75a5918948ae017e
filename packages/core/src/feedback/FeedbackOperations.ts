import { Effect, Schema } from "effect"
import * as Operation from "../calls/Operation.ts"
import { joinWrongFields } from "../wire/FieldError.ts"
import { Feedback } from "./Feedback.ts"
import { FeedbackReport, personalTexts, SendInput } from "./FeedbackReport.ts"

const authority: Operation.Authority = { callers: ["server", "widget", "platform", "keyless"] }
const available = Effect.map(Feedback, (feedback) => feedback.isTaken)

/** Sends a report about the API (api.md, Feedback reports). */
export const sendFeedback = Operation.make({
  name: "send_feedback",
  summary: "Report something about the API",
  description:
    "A bug, a missing feature, or an error message or documentation that is unclear. Write nothing about a person: a report that seems to hold a national ID, a driver's license or a card number is refused, and nothing of it is kept. A report changes no quote, and a repeated call files a second report.",
  tag: "Feedback",
  route: { method: "POST", path: "/v1/feedback", query: {}, status: 201 },
  authority,
  cost: { other: 1 },
  idempotent: false,
  input: SendInput,
  output: FeedbackReport,
  available,
  validateRest: (_, input, refused) =>
    Effect.succeed(
      joinWrongFields(personalTexts(input).filter(({ path }) => !refused.some((error) => error.path === path)))
    ),
  errors: [],
  run: (call, input) => Feedback.use((feedback) => feedback.send(call, input))
})

/** Reads the status of a report (api.md, Feedback reports). */
export const getFeedback = Operation.make({
  name: "get_feedback",
  summary: "Read the status of a report",
  description: "Its status, and the operators' note. The text of a report cannot be read back.",
  tag: "Feedback",
  route: { method: "GET", path: "/v1/feedback/{id}", query: {}, status: 200 },
  authority,
  cost: { read: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String.annotateKey({ description: "The report, `fb_…`" }) }),
  output: FeedbackReport,
  available,
  errors: ["not_found"],
  run: (call, { id }) => Feedback.use((feedback) => feedback.get(call, id))
})
