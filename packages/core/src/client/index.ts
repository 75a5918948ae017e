/**
 * The client without the service, for programs that only call a host. It does not load Effect, so that these programs
 * stay small.
 */

export type { Line as AnyLine } from "../lines/Line.ts"
export type { StandardLine } from "../lines/standard.ts"
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
  KeyedCallOptions,
  OperationMethods,
  RemoteClient,
  WaitOptions
} from "./Client.ts"
export * as Argument from "./InvalidArgument.ts"
export { InvalidArgument, type Mistake, type Rule } from "./InvalidArgument.ts"
export { type ApiErrorOf, isApiError } from "./isApiError.ts"
export { makeClient, type Transport } from "./makeClient.ts"
export type { Sleep } from "./retryPause.ts"
export { retryPause } from "./retryPause.ts"
