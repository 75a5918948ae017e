/** A client for a remote host. It imports only `@quotewire/core/client`, so that web pages stay small. */

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
export { InvalidArgument, isApiError } from "@quotewire/core/client"
export { ApiError } from "./ApiError.ts"
export { type ConnectOptions, connect } from "./connect.ts"
export { HostError } from "./HostError.ts"
export type { Transport, TransportRequest, TransportResponse } from "./Transport.ts"
