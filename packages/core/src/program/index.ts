/**
 * What a program needs before or without starting the service: reading its settings, and logging its own errors. This
 * module loads no part of the service, so that commands that only call a host start quickly.
 */

export * as ApiKey from "../access/ApiKey.ts"
export * as Caller from "../access/Caller.ts"
export * as Limits from "../access/limits/Limits.ts"
export * as Seal from "../access/sealing/Seal.ts"
export * as Fault from "../concurrency/Fault.ts"
export * as OperatorToken from "../operators/OperatorToken.ts"
export * as Signature from "../webhooks/Signature.ts"
export * as WebhookAddress from "../webhooks/WebhookAddress.ts"
export * as HttpAddress from "../wire/HttpAddress.ts"
export * as Ids from "../wire/Ids.ts"
export * as Json from "../wire/Json.ts"
export * as PlainText from "../wire/PlainText.ts"
export * as Timestamp from "../wire/Timestamp.ts"
