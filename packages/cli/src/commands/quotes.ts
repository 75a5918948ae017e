import { Ids } from "@quotewire/core/program"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as HostClient from "../remote/HostClient.ts"
import * as Listing from "../remote/Listing.ts"
import * as QuoteText from "../remote/QuoteText.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as Output from "../terminal/Output.ts"

const isQuoteId = Schema.is(Ids.QuoteId)
const readQuoteRequestId = Schema.decodeUnknownOption(Ids.QuoteRequestId)

const idArgument = Argument.String("id").pipe(
  Argument.filter(
    (text) => isQuoteId(text) || Option.isSome(readQuoteRequestId(text)),
    () => "<id> must be the id of a quote or a quote request, such as qt_01… or qreq_01…"
  ),
  Argument.withDescription("Id of a quote, qt_…, or of a quote request, qreq_…")
)

/** Reads the current state of a quote request. */
const read = (client: HostClient.HostClient, id: string) =>
  HostClient.call((signal) => client.get_quote_request({ id, wait_seconds: 0 }, { signal }))

const show = Command.make("show", reportAllErrors({ id: idArgument, ...HostClient.flags }), ({ id, ...settings }) =>
  Effect.gen(function* () {
    const client = HostClient.make(settings)
    if (isQuoteId(id)) {
      const quote = yield* HostClient.call((signal) => client.get_quote({ id }, { signal }))
      return yield* Output.result(settings, quote, QuoteText.quote(quote))
    }
    const answer = yield* read(client, id)
    yield* Output.result(settings, answer, QuoteText.request(answer))
  })
).pipe(Command.withDescription("Show a quote, or a quote request with its quotes"))

const requestArgument = Argument.String("quote_request_id").pipe(
  Argument.filterMap(
    readQuoteRequestId,
    () => "<quote_request_id> must be the id of a quote request, such as qreq_01…"
  ),
  Argument.withDescription("Id of the quote request, qreq_…")
)

const wait = Command.make(
  "wait",
  reportAllErrors({ quote_request_id: requestArgument, ...HostClient.flags }),
  ({ quote_request_id, ...settings }) =>
    Effect.gen(function* () {
      const client = HostClient.make(settings)
      // `wait_for_quotes` keeps retrying while the host is down. This first read does not, so a wrong address or ID
      // fails immediately.
      const now = yield* read(client, quote_request_id)
      const isDone = now.quote_request.status !== "in_progress"
      const waiting = HostClient.call((signal) => client.wait_for_quotes(quote_request_id, { signal }))
      const answer = isDone ? now : yield* waiting
      yield* Output.result(settings, answer, QuoteText.request(answer))
    })
).pipe(Command.withDescription("Wait until a quote request is no longer in progress, two minutes at most, and show it"))

const statuses = ["in_progress", "action_required", "completed", "failed"] as const

const list = Command.make(
  "list",
  reportAllErrors({
    status: Flag.optional(Settings.word("status", statuses, "Only requests with this status")),
    line: Listing.text("line", "Only requests for this line"),
    limit: Listing.limit,
    ...HostClient.flags
  }),
  ({ limit, line, status, ...settings }) =>
    Effect.gen(function* () {
      const client = HostClient.make(settings)
      const input = {
        limit,
        ...(Option.isSome(line) && { line: line.value }),
        ...(Option.isSome(status) && { status: status.value })
      }
      const { quote_requests } = yield* HostClient.call((signal) => client.list_quote_requests(input, { signal }))
      yield* Effect.forEach(quote_requests, (request) => Output.result(settings, request, [QuoteText.listed(request)]))
    })
).pipe(Command.withDescription("List a host's quote requests, newest first"))

/** `quotewire quotes` shows a host's quotes and quote requests, and waits for quotes. */
export const quotes = Command.make("quotes").pipe(
  Command.withDescription("Read a host's quotes"),
  Command.withSubcommands([list, show, wait])
)
