import { Ids } from "@quotewire/core/program"
import { Effect, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import * as HostClient from "../../remote/HostClient.ts"
import * as Listing from "../../remote/Listing.ts"
import * as OperatorClient from "../../remote/OperatorClient.ts"
import type { OperatorHost } from "../../remote/OperatorHost.ts"
import type { CommandFailed } from "../../settings/CommandErrors.ts"
import * as OperatorSettings from "../../settings/OperatorSettings.ts"
import { reportAllErrors } from "../../settings/Parameters.ts"
import * as Settings from "../../settings/Settings.ts"
import { organization } from "../../settings/StorageSettings.ts"
import * as Output from "../../terminal/Output.ts"
import * as Style from "../../terminal/Style.ts"

/** An entry of the audit log: one call by an operator. */
interface Entry {
  readonly at: string
  readonly request_id: string
  readonly token_id: string
  readonly token_name: string
  readonly operation: string
  readonly organization_id: string | null
  readonly quote_request_id: string | null
  readonly resource: string | null
  readonly outcome: string
  readonly error_code: string | null
}

interface Page {
  readonly entries: ReadonlyArray<Entry>
  readonly next_cursor: string | null
}

const flags = {
  operation: Listing.text("operation", "Only calls of this operation, such as erase_quote_request"),
  outcome: Flag.optional(Settings.word("outcome", ["begun", "succeeded", "refused"], "Only calls with this outcome")),
  organization: Flag.optional(organization),
  quote_request: Listing.quoteRequest,
  token: Flag.String("token").pipe(
    Flag.filterMap(
      Schema.decodeUnknownOption(Ids.OperatorTokenId),
      () => "--token must be the id of a token, such as opt_01…, not the token itself"
    ),
    Flag.optional,
    Flag.withDescription("Only calls with this token, opt_…")
  ),
  since: Listing.text("since", "Only calls at or after this time, such as 2026-11-20T08:00:00Z"),
  limit: Listing.limit,
  operator_token: OperatorSettings.operatorToken,
  base_url: Flag.withDefault(Settings.calledUrl, Settings.localUrl),
  json: Settings.json
}

type Filters = Readonly<Record<string, string>>

/** Reads the latest entries. A page of the log can be short even if more entries follow. */
const newest = (host: OperatorHost, filters: Filters, limit: number) =>
  Stream.paginate<string | null, Entry, CommandFailed>(null, (cursor) =>
    Effect.gen(function* () {
      const input = { ...filters, limit, ...(cursor !== null && { cursor }) }
      const page = yield* OperatorClient.callWithAdvice<Page>(host, "list_audit_log", input)
      yield* HostClient.refuseRepeated(cursor, page.next_cursor)
      return [page.entries, Option.fromNullOr(page.next_cursor)] as const
    })
  ).pipe(Stream.take(limit))

const lineOf = ({ error_code, outcome, ...entry }: Entry): string =>
  [
    entry.at,
    error_code === null ? outcome : `${outcome} (${error_code})`,
    entry.operation,
    `by ${entry.token_name} (${entry.token_id})`,
    ...[entry.organization_id, entry.quote_request_id, entry.resource].filter((id) => id !== null),
    entry.request_id
  ].join("  ")

/** `quotewire audit` prints what operators did on a host. */
export const audit = Command.make("audit", reportAllErrors(flags), (settings) =>
  Effect.gen(function* () {
    const style = yield* Style.style
    const filters = {
      ...(Option.isSome(settings.operation) && { operation: settings.operation.value }),
      ...(Option.isSome(settings.outcome) && { outcome: settings.outcome.value }),
      ...(Option.isSome(settings.organization) && { organization_id: settings.organization.value }),
      ...(Option.isSome(settings.quote_request) && { quote_request_id: settings.quote_request.value }),
      ...(Option.isSome(settings.token) && { token_id: settings.token.value }),
      ...(Option.isSome(settings.since) && { since: settings.since.value })
    }
    yield* newest(settings, filters, settings.limit).pipe(
      Stream.runForEach((entry) =>
        Output.result(settings, entry, [lineOf(entry)], entry.outcome === "refused" ? style.yellow : undefined)
      )
    )
  })
).pipe(Command.withDescription("Print what operators did on a host, newest first"))
