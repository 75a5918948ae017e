/**
 * The quoting service as a library.
 *
 * Without Effect, use `embed`, which offers the whole service with promises. With Effect, use `Quotewire.layer`, which
 * is the core on top of a `Storage`; `operations` lists what a caller can do, and `Pipeline.call` runs one of these
 * operations. `Resource` contains the schemas and types.
 *
 * The exports are grouped in the order in which a program needs them. Most programs need only the first groups.
 */

/* Embedding the service, with promises: start with `embed`. */

// Exported in addition to `Allowance.Limits`, because generated declarations cannot name a type through a namespace.
export type { Limits } from "./access/limits/Limits.ts"
export { generateSealKey } from "./access/sealing/Seal.ts"
export type { Embedded, EmbedOptions } from "./embedding/Embedded.ts"
export { embed } from "./embedding/embed.ts"
export type { ProgramLogger } from "./embedding/ProgramLogger.ts"
export { ServiceFailed } from "./embedding/rejections.ts"
export type { GivenSealKeys } from "./embedding/sealKeys.ts"
export type { OpenTelemetry } from "./embedding/Telemetry.ts"
export type { EmbeddedConnection, EmbeddedKey, EmbeddedOrganization } from "./embedding/views.ts"

/* Calling operations, with promises: what a client takes and returns, in this process and over HTTP (`connect`). */

export type {
  AnswerOf,
  CallOptions,
  Client,
  EventFeed,
  EventsOptions,
  InputOf,
  KeyedCallOptions,
  OperationMethods,
  RemoteClient,
  WaitOptions
} from "./client/Client.ts"
export { type ApiErrorOf, isApiError } from "./client/isApiError.ts"
export * as Resource from "./Resource.ts"
export { InvalidArgument } from "./wire/Argument.ts"

/* Receiving events, with promises: as webhooks, or in a consumer of this process. */

export {
  type ConsumeOptions,
  type EventContext,
  type EventHandler,
  type ExpiredEvents,
  InvalidConsumer
} from "./consuming/ConsumeOptions.ts"
export type { ConsumerFilter, ConsumerPlace, ConsumerStatus } from "./consuming/consumerStatus.ts"
export type { Consume, StopConsuming } from "./consuming/consumeWithPromises.ts"
export type { ParkedEvent, ParkedEventFilter, ParkedEventPlace } from "./consuming/ParkedEvent.ts"
export type { GivenParkedEventPlace } from "./embedding/Embedded.ts"
export * as Event from "./events/Event.ts"
export { verifyWebhook } from "./webhooks/verifyWebhook.ts"

/* Operating the service, with promises: what the methods of `Embedded` for operators take and return. */

export type { Organization } from "./access/ApiKey.ts"
export type { ConnectionPlace, ConnectionSummary, ConnectionTestResult, LastTest } from "./carriers/Connection.ts"
export type { CarrierPlace, CarrierStatus, CarrierStatusPage } from "./carriers/health/CarrierStatus.ts"
export type {
  ActingOperator,
  EmbeddedOperatorToken,
  OperatorMethods,
  Operators,
  OperatorTokenOptions
} from "./embedding/EmbeddedOperators.ts"
export type { Operator } from "./operators/OperatorToken.ts"
export type { ErasedRequest, ErasureOptions, ErasureReport, ErasureTarget } from "./quoting/erasing/Erasure.ts"

/* Configuring the service: `quotewire.config.ts`, whose fields are also options of `embed`. */

export * as Revision from "./calls/Revision.ts"
export { type Config, defineConfig } from "./config/Config.ts"
export { InvalidConfig, readConfig } from "./config/ConfigRules.ts"

/* Your own carriers, in plain TypeScript. */

export * as AdapterRules from "./carriers/AdapterRules.ts"
export * as Carrier from "./carriers/Carrier.ts"
export type * as CarrierDefinition from "./carriers/CarrierDefinition.ts"
export { defineCarrier, InvalidCarrier } from "./carriers/defineCarrier.ts"
export type { AnswerSchema } from "./carriers/http/AnswerSchema.ts"
export { type Auth, apiKey, basic, bearer, type OAuthOptions, oauth } from "./carriers/http/Auth.ts"
export type { CarrierHttp } from "./carriers/http/CarrierHttp.ts"
export { CarrierHttpError } from "./carriers/http/CarrierHttpError.ts"
export type { CarrierHttpOptions } from "./carriers/http/CarrierHttpOptions.ts"
export type { CarrierMethod, CarrierRequestOptions } from "./carriers/http/CarrierRequest.ts"
export type { CarrierResponse, EffectCarrierResponse } from "./carriers/http/CarrierResponse.ts"
export type { XmlDocument, XmlValue } from "./carriers/http/XmlBody.ts"
export * as Reply from "./carriers/Reply.ts"
export * as CarrierExchange from "./carriers/recorder/CarrierExchange.ts"
export * as Money from "./wire/Money.ts"

/* Carriers that are defined by rate tables. */

export * as CoverageItems from "./rating/CoverageItems.ts"
export { ratePlanSchema } from "./rating/PlanFormat.ts"
export * as RatePlan from "./rating/RatePlan.ts"
export * as Rating from "./rating/Rating.ts"
export { InvalidRatePlan, type RatePlanCarrierOptions, ratePlanCarrier } from "./rating/ratePlanCarrier.ts"
export * as Variable from "./rating/Variable.ts"

/* Insurance lines: the standard lines, and your own lines. */

export * as Application from "./lines/Application.ts"
export { defineLine, type LineDefinition } from "./lines/defineLine.ts"
export * as Fact from "./lines/Fact.ts"
export * as HostSchema from "./lines/HostSchema.ts"
// Exported in addition to `Line.Line`, because generated declarations cannot name a type through a namespace.
export type { Line as AnyLine } from "./lines/Line.ts"
export * as Line from "./lines/Line.ts"
export { LineName } from "./lines/LineName.ts"
export * as Lines from "./lines/Lines.ts"
export * as SharedFacts from "./lines/SharedFacts.ts"
export { type FactPath, lineNames, type StandardLine, type StandardLineName, standardLines } from "./lines/standard.ts"

/* The service with Effect: `Quotewire.layer` on top of a `Storage`, and its services. */

export * as Access from "./access/Access.ts"
export * as ApiKey from "./access/ApiKey.ts"
export * as Caller from "./access/Caller.ts"
export * as Allowance from "./access/limits/Allowance.ts"
export * as Seal from "./access/sealing/Seal.ts"
export * as SealedRows from "./access/sealing/SealedRows.ts"
export * as RequestLog from "./calls/RequestLog.ts"
export { CarrierConnections } from "./carriers/CarrierConnections.ts"
export { CarrierTransport } from "./carriers/CarrierTransport.ts"
export * as Connections from "./carriers/Connections.ts"
export * as Circuits from "./carriers/health/Circuits.ts"
export * as WholeAnswers from "./carriers/http/WholeAnswers.ts"
export type { EffectEventHandler } from "./consuming/ConsumeOptions.ts"
export { Consumers, type Consumption } from "./consuming/Consumers.ts"
export * as Feedback from "./feedback/Feedback.ts"
export { type OperationServices, operations } from "./operations.ts"
export * as AuditEntry from "./operators/AuditEntry.ts"
export * as AuditLog from "./operators/AuditLog.ts"
export * as OperatorToken from "./operators/OperatorToken.ts"
export * as OperatorTokens from "./operators/OperatorTokens.ts"
export { type OperatorOperationServices, operatorOperations } from "./operators/operatorOperations.ts"
export * as Quotewire from "./Quotewire.ts"
export * as Erasures from "./quoting/erasing/Erasures.ts"
export * as Retention from "./runner/Retention.ts"
export * as Timeline from "./timeline/Timeline.ts"
export * as Timelines from "./timeline/Timelines.ts"
export * as WebhookSender from "./webhooks/WebhookSender.ts"

/* For hosts: calling operations for callers that arrive over a protocol. */

export * as FinishedCall from "./calls/FinishedCall.ts"
export * as Operation from "./calls/Operation.ts"
export * as Pipeline from "./calls/Pipeline.ts"
export { whenClosing } from "./embedding/whenClosing.ts"
export * as OperatorCalls from "./operators/OperatorCalls.ts"
export * as OperatorOperation from "./operators/OperatorOperation.ts"
export { disclosureText, quoteDisclosure } from "./quoting/disclosureText.ts"
export * as Signature from "./webhooks/Signature.ts"
export * as WebhookAddress from "./webhooks/WebhookAddress.ts"
export * as WebhookHeaders from "./webhooks/WebhookHeaders.ts"
export * as ApiError from "./wire/ApiError.ts"
export * as Argument from "./wire/Argument.ts"
export * as CalendarDay from "./wire/CalendarDay.ts"
export * as HttpAddress from "./wire/HttpAddress.ts"
export * as Ids from "./wire/Ids.ts"
export * as Input from "./wire/Input.ts"
export * as Json from "./wire/Json.ts"
export * as PublicUrl from "./wire/PublicUrl.ts"
export * as Timestamp from "./wire/Timestamp.ts"

/* For storage backends. */

export * as SealKeysInUse from "./access/sealing/SealKeysInUse.ts"
export * as TextCrypto from "./access/sealing/TextCrypto.ts"
export { BoundedMap } from "./concurrency/BoundedMap.ts"
export * as Fault from "./concurrency/Fault.ts"
export * as Monotonic from "./concurrency/Monotonic.ts"
export * as Supervise from "./concurrency/Supervise.ts"
export { kinds } from "./kinds.ts"
export * as Batcher from "./storage/Batcher.ts"
export * as Cell from "./storage/Cell.ts"
export * as Change from "./storage/Change.ts"
export * as Checks from "./storage/Checks.ts"
export * as Hints from "./storage/Hints.ts"
export * as Job from "./storage/Job.ts"
export * as Kind from "./storage/Kind.ts"
export * as Page from "./storage/Page.ts"
export * as Storage from "./storage/Storage.ts"
