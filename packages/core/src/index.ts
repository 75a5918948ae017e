/**
 * The quoting service as a library.
 *
 * `embed` is all of it with promises. With Effect, `Quotewire.layer` is the whole core on a `Storage`, `operations` is what
 * a caller can do, and `Operation.call` does it. `Resource` holds what goes in and comes out, as schemas and types.
 */

export * as ApiError from "./ApiError.ts"
export * as Access from "./access/Access.ts"
export * as Allowance from "./access/Allowance.ts"
export * as ApiKey from "./access/ApiKey.ts"
export * as Caller from "./access/Caller.ts"
// Beside `Allowance.Limits`, since declarations that TypeScript writes cannot name a type through a namespace.
export type { Limits } from "./access/Limits.ts"
export type { Organization } from "./access/Organization.ts"
export * as Revision from "./access/Revision.ts"
export * as Seal from "./access/Seal.ts"
export * as ServedRevisions from "./access/ServedRevisions.ts"
export * as TextCrypto from "./access/TextCrypto.ts"
export * as Event from "./events/Event.ts"
export * as Feedback from "./feedback/Feedback.ts"
export * as Ids from "./Ids.ts"
export * as Json from "./Json.ts"
export * as Quotewire from "./layer.ts"
export * as Operation from "./Operation.ts"
export { type OperationServices, operations } from "./operations.ts"
export * as PublicUrl from "./PublicUrl.ts"
export {
  type AnswerOf,
  type CallOptions,
  type Client,
  type Embedded,
  type EmbedOptions,
  embed,
  type InputOf
} from "./promise.ts"
export * as Carrier from "./quoting/Carrier.ts"
export * as Line from "./quoting/Line.ts"
export * as Money from "./quoting/Money.ts"
export * as Resource from "./Resource.ts"
export * as Rounds from "./Rounds.ts"
export * as RequestLog from "./requests/RequestLog.ts"
export * as Retention from "./runner/Retention.ts"
export * as Change from "./storage/Change.ts"
export * as Hints from "./storage/Hints.ts"
export * as Job from "./storage/Job.ts"
export * as Page from "./storage/Page.ts"
export * as Storage from "./storage/Storage.ts"
export * as Timestamp from "./Timestamp.ts"
export * as Signature from "./webhooks/Signature.ts"
export { verifyWebhook } from "./webhooks/verify.ts"
export * as WebhookAddress from "./webhooks/WebhookAddress.ts"
export * as WebhookHeaders from "./webhooks/WebhookHeaders.ts"
export * as WebhookSender from "./webhooks/WebhookSender.ts"
