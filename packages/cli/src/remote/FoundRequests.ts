import { Effect, Option, Stream } from "effect"
import type { CommandFailed } from "../settings/CommandErrors.ts"
import * as HostClient from "./HostClient.ts"
import * as OperatorClient from "./OperatorClient.ts"
import type { OperatorHost } from "./OperatorHost.ts"

/*
 * Finds quote requests of any organization, for operators.
 */

/** A quote request that was found. */
export interface FoundRequest {
  readonly id: string
  readonly organization_id: string
  readonly environment: string
  readonly line: string
  readonly status: string
  readonly reason: string
  readonly created_at: string
  readonly quotes: number
}

interface Page {
  readonly quote_requests: ReadonlyArray<FoundRequest>
  readonly next_cursor: string | null
}

/** Reads the latest matching requests. A page can be short even if more requests match. */
export const newest = (
  host: OperatorHost,
  filters: Readonly<Record<string, unknown>>,
  limit: number
): Stream.Stream<FoundRequest, CommandFailed> =>
  Stream.paginate<string | null, FoundRequest, CommandFailed>(null, (cursor) =>
    Effect.gen(function* () {
      const input = { ...filters, limit, ...(cursor !== null && { cursor }) }
      const page = yield* OperatorClient.callWithAdvice<Page>(host, "find_quote_requests", input)
      yield* HostClient.refuseRepeated(cursor, page.next_cursor)
      return [page.quote_requests, Option.fromNullOr(page.next_cursor)] as const
    })
  ).pipe(Stream.take(limit))

/** Formats a request as one line. */
export const lineOf = ({ created_at, environment, id, line, organization_id, quotes, reason, status }: FoundRequest) =>
  [
    created_at,
    `${status} (${reason})`,
    `${quotes} ${quotes === 1 ? "quote" : "quotes"}`,
    `${line}, ${environment}`,
    organization_id,
    id
  ].join("  ")
