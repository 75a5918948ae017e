import * as Audit from "./AuditOperations.ts"
import type { OperatorOperation } from "./OperatorOperation.ts"
import * as Organizations from "./OrganizationOperations.ts"
import * as QuoteRequests from "./QuoteRequestOperations.ts"

/** Every operation for operators. */
export const operatorOperations = [
  Organizations.listOrganizations,
  Organizations.createOrganization,
  Organizations.listKeys,
  Organizations.createKey,
  Organizations.revokeKey,
  QuoteRequests.findQuoteRequests,
  QuoteRequests.getTimeline,
  QuoteRequests.readExchanges,
  Audit.listAuditLog
] as const

type ServicesOf<Operations> = Operations extends ReadonlyArray<OperatorOperation<string, unknown, infer R>> ? R : never

/** The services that the operations for operators need. */
export type OperatorOperationServices = ServicesOf<typeof operatorOperations>
