import * as Audit from "./AuditOperations.ts"
import * as Carriers from "./CarrierOperations.ts"
import * as Consumers from "./ConsumerOperations.ts"
import * as ErasureOperations from "./ErasureOperations.ts"
import type { OperatorOperation } from "./OperatorOperation.ts"
import * as Organizations from "./OrganizationOperations.ts"
import * as QuoteRequests from "./QuoteRequestOperations.ts"
import * as Recoveries from "./RecoveryOperations.ts"
import * as Sharing from "./SharingOperations.ts"
import * as Work from "./WorkOperations.ts"

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
  ErasureOperations.eraseQuoteRequest,
  ErasureOperations.eraseReceipt,
  Carriers.getCarrierStatus,
  Carriers.resetCarrier,
  Carriers.listConnections,
  Carriers.setConnection,
  Carriers.testConnection,
  Carriers.removeConnection,
  Consumers.listConsumers,
  Consumers.listParkedEvents,
  Consumers.retryParkedEvent,
  Consumers.dropParkedEvent,
  Recoveries.previewRecovery,
  Recoveries.startRecovery,
  Recoveries.listRecoveries,
  Recoveries.changeRecovery,
  Sharing.createLink,
  Work.getWork,
  Audit.listAuditLog
] as const

type ServicesOf<Operations> = Operations extends ReadonlyArray<OperatorOperation<string, unknown, infer R>> ? R : never

/** The services that the operations for operators need. */
export type OperatorOperationServices = ServicesOf<typeof operatorOperations>
