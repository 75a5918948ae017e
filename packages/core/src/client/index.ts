/**
 * The client interface without the service: it imports nothing, so that programs that only call stay small.
 */

export type { ErrorCode, RetryActionType } from "../wire/ApiError.ts"
export type { FieldError } from "../wire/FieldError.ts"
export type {
  AnswerOf,
  AnyOperation,
  CallOptions,
  Client,
  EventFeed,
  EventsOptions,
  InputOf,
  OperationMethods,
  WaitOptions
} from "./Client.ts"
export { type ApiErrorOf, isApiError } from "./isApiError.ts"
export { makeClient, type Transport } from "./makeClient.ts"
export { retryPause } from "./retryPause.ts"
export type { Sleep } from "./Sleep.ts"
