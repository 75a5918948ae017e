/**
 * A client of a host that runs elsewhere. It loads nothing but `@quotewire/core/client`, so that web pages stay small.
 */

export type {
  AnswerOf,
  AnyLine,
  CallOptions,
  Client,
  ErrorCode,
  EventFeed,
  EventsOptions,
  FieldError,
  InputOf,
  KeyedCallOptions,
  RemoteClient,
  RetryActionType,
  StandardLine,
  WaitOptions
} from "@quotewire/core/client"
export { isApiError } from "@quotewire/core/client"
export { ApiError } from "./ApiError.ts"
export { type ConnectOptions, connect } from "./connect.ts"
export { HostError } from "./HostError.ts"
