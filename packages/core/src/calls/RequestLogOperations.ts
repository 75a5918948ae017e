import { Effect, Schema } from "effect"
import { aboutQuery } from "../wire/AboutIds.ts"
import { ListInput, RequestLogEntry, RequestLogPage } from "./FinishedCall.ts"
import * as Operation from "./Operation.ts"
import { RequestLog } from "./RequestLog.ts"

const authority: Operation.Authority = { callers: ["server"] }
const available = Effect.map(RequestLog, (log) => log.isKept)

/** Lists the organization's API calls (api.md, Request log entries). */
export const listApiRequests = Operation.make({
  name: "list_api_requests",
  summary: "List API requests",
  description:
    "The calls of the last 30 days in this environment, newest first, including refused ones; a call appears within a second. No bodies are kept. The filters must be sent with every page. A page can be short and yet have a next_cursor: read until next_cursor is null.",
  tag: "Requests",
  route: {
    method: "GET",
    path: "/v1/requests",
    query: {
      limit: "integer",
      cursor: "string",
      status: "integer",
      error_code: "string",
      operation: "string",
      ...aboutQuery,
      since: "string"
    },
    status: 200
  },
  authority,
  cost: { read: 1 },
  idempotent: false,
  input: ListInput,
  output: RequestLogPage,
  available,
  errors: ["invalid_cursor"],
  run: (call, input) => RequestLog.use((log) => log.list(call, input))
})

/** Reads one API call (api.md, Request log entries). */
export const getApiRequest = Operation.make({
  name: "get_api_request",
  summary: "Read an API request",
  description: "Everything known about one call, by the Request-Id of its response. It can be read within a second.",
  tag: "Requests",
  route: { method: "GET", path: "/v1/requests/{id}", query: {}, status: 200 },
  authority,
  cost: { read: 1 },
  idempotent: false,
  input: Schema.Struct({ id: Schema.String.annotateKey({ description: "The request, `req_…`" }) }),
  output: RequestLogEntry,
  available,
  errors: ["not_found"],
  run: (call, { id }) => RequestLog.use((log) => log.get(call, id))
})
