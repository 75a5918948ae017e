import { AuditPage, ListInput } from "./AuditEntry.ts"
import { AuditLog } from "./AuditLog.ts"
import * as OperatorOperation from "./OperatorOperation.ts"

/** Lists what operators did. */
export const listAuditLog = OperatorOperation.make({
  name: "list_audit_log",
  summary: "List what operators did",
  description:
    "Every call with a valid operator's token, newest first, including refused ones; it is kept as long as quote requests, by default 13 months. The filters must be sent with every page. A page can be short and yet have a next_cursor: read until next_cursor is null.",
  tag: "Audit log",
  route: {
    method: "GET",
    path: "/operator/v1/audit-log",
    query: {
      limit: "integer",
      cursor: "string",
      operation: "string",
      token_id: "string",
      outcome: "string",
      organization_id: "string",
      quote_request_id: "string",
      since: "string"
    },
    status: 200
  },
  scope: "read",
  reach: "organization",
  input: ListInput,
  output: AuditPage,
  errors: ["invalid_cursor"],
  run: ({ organization_id }, input) =>
    AuditLog.use((log) => log.list({ ...input, ...(organization_id !== null && { organization_id }) }))
})
