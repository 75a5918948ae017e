import { Ids } from "@quotewire/core/program"
import { Effect, Option, Record, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as FoundRequests from "../remote/FoundRequests.ts"
import * as HostClient from "../remote/HostClient.ts"
import * as Listing from "../remote/Listing.ts"
import { hostOf } from "../remote/OperatorHost.ts"
import * as RemoteServices from "../remote/RemoteServices.ts"
import * as RequestLog from "../remote/RequestLog.ts"
import * as StandardOutput from "../remote/StandardOutput.ts"
import * as TimelineReport from "../service/TimelineReport.ts"
import { WrongUsage } from "../settings/CommandErrors.ts"
import * as MissingSettings from "../settings/MissingSettings.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as StorageSettings from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"
import * as Style from "../terminal/Style.ts"

const isRequestId = Schema.is(Ids.RequestId)
const isQuoteRequestId = Schema.is(Ids.QuoteRequestId)

const idArgument = Argument.String("id").pipe(
  Argument.filterMap(
    (text) => (isRequestId(text) || isQuoteRequestId(text) ? Option.some(text) : Option.none()),
    () => "<id> must be the id of a quote request, such as qreq_01…, or of a call, such as req_01…"
  ),
  Argument.withDescription("Id of a quote request, qreq_…, or of a call, req_…")
)

const bodies = Flag.Boolean("bodies").pipe(
  Flag.withDefault(false),
  Flag.withDescription("With qreq_…: print the recorded bodies, which can hold facts about a person")
)

/** Fails because flags that this kind of ID needs are missing. */
const missingFlags = (id: string, flags: ReadonlyArray<string>) =>
  Effect.fail(new WrongUsage({ message: `For ${id}: ${MissingSettings.requestFor(flags)}.` }))

/** Prints one call from the request log. */
const printCall = Effect.fnUntraced(function* (id: Ids.RequestId, settings: HostClient.HostSettings) {
  const client = HostClient.make(settings)
  const entry = yield* HostClient.call((signal) => client.get_api_request({ id }, { signal }))
  const rows = Object.entries(entry).map(([name, value]) => `${name.padEnd(18)}${value ?? "none"}`)
  yield* Output.result(settings, entry, rows)
})

/** Prints a call as one line of a list, colored by the call's status. */
const printLine = (settings: HostClient.HostSettings, style: Style.Style, entry: RequestLog.Entry) =>
  Output.result(settings, entry, [RequestLog.lineOf(entry)], Style.ofStatus(style, `${entry.status}`))

const show = Command.make(
  "show",
  reportAllErrors({
    id: idArgument,
    bodies,
    ...OperatorSettings.optionalReach,
    seal_keys: Flag.optional(StorageSettings.sealKeys),
    ...HostClient.flags,
    api_key: Flag.optional(HostClient.flags.api_key)
  }),
  ({ id, ...settings }) =>
    Effect.gen(function* () {
      const { api_key, cells, database_url, seal_keys } = settings
      if (isRequestId(id)) {
        return Option.isNone(api_key)
          ? yield* missingFlags("req_…", ["api-key"])
          : yield* printCall(id, { ...settings, api_key: api_key.value })
      }
      const host = yield* hostOf({ ...settings, base_url: Option.some(settings.base_url) })
      if (host !== null) {
        return yield* TimelineReport.print(yield* RemoteServices.timeline(host, id, settings.bodies), settings)
      }
      const address = Option.orElse(cells, () => database_url)
      if (Option.isNone(address) || Option.isNone(seal_keys)) {
        const flags = [
          ...(Option.isNone(address) ? ["database-url"] : []),
          ...(Option.isNone(seal_keys) ? ["seal-keys"] : [])
        ]
        return yield* missingFlags("qreq_…", flags)
      }
      yield* TimelineReport.print(yield* TimelineReport.read(id, { ...settings, seal_keys: seal_keys.value }), settings)
    })
).pipe(
  Command.withDescription(
    "Show what happened to a quote request (qreq_…, from a host with an operator's token, or from the database), or one call of the request log (req_…, from a host)"
  )
)

const list = Command.make(
  "list",
  reportAllErrors({
    quote_request_id: Listing.quoteRequest,
    operation: Listing.text("operation", "Only calls of this operation, such as start_quote_request"),
    limit: Listing.limit,
    ...HostClient.flags
  }),
  ({ limit, operation, quote_request_id, ...settings }) =>
    Effect.gen(function* () {
      const client = HostClient.make(settings)
      const style = yield* Style.style
      const input = {
        limit,
        ...(Option.isSome(operation) && { operation: operation.value }),
        ...(Option.isSome(quote_request_id) && { quote_request_id: quote_request_id.value })
      }
      const { requests: listed } = yield* HostClient.call((signal) => client.list_api_requests(input, { signal }))
      yield* Effect.forEach(listed, (entry) => printLine(settings, style, entry))
    })
).pipe(Command.withDescription("List the calls in a host's request log, newest first"))

const find = Command.make(
  "find",
  reportAllErrors({
    id: Listing.text("id", "Only requests with this text in the id, four characters or more"),
    organization: Flag.optional(StorageSettings.organization),
    status: Listing.text("status", "Only requests with this status, such as failed"),
    reason: Listing.text("reason", "Only requests with this status reason"),
    line: Listing.text("line", "Only requests for this line, such as renters"),
    ended: Listing.text("ended", "Only requests that have ended: with_quotes or without_quotes"),
    carrier: Listing.text("carrier", "Only requests with a result from this carrier, such as naic:10001"),
    outcome: Listing.text("outcome", "Only requests with this outcome from a carrier, such as declined"),
    since: Listing.text("since", "Only requests created at or after this time, such as 2026-11-20T08:00:00Z"),
    limit: Listing.limit,
    operator_token: OperatorSettings.operatorToken,
    base_url: Flag.withDefault(Settings.calledUrl, Settings.localUrl),
    json: Settings.json
  }),
  (settings) =>
    Effect.gen(function* () {
      const filters = {
        id: settings.id,
        organization_id: settings.organization,
        status: settings.status,
        reason: settings.reason,
        line: settings.line,
        ended: settings.ended,
        carrier_id: settings.carrier,
        carrier_outcome: settings.outcome,
        created_after: settings.since
      }
      yield* FoundRequests.newest(settings, Record.getSomes(filters), settings.limit).pipe(
        Stream.runForEach((request) => Output.result(settings, request, [FoundRequests.lineOf(request)]))
      )
    })
).pipe(
  Command.withDescription("Find quote requests of all organizations on a host, newest first, with an operator's token")
)

const tail = Command.make("tail", reportAllErrors(HostClient.flags), (settings) =>
  Effect.flatMap(Style.style, (style) =>
    RequestLog.follow(settings).pipe(
      Stream.runForEach((entry) => printLine(settings, style, entry)),
      StandardOutput.untilClosed
    )
  )
).pipe(Command.withDescription("Print the calls in a host's request log as they arrive"))

/** `quotewire requests` shows what happened to a quote request, and the calls in a host's request log. */
export const requests = Command.make("requests").pipe(
  Command.withDescription("Inspect quote requests, and the request log of a host"),
  Command.withSubcommands([find, list, show, tail])
)
