import { Predicate, Result } from "effect"

/** The ID of a request, which the response repeats. */
export type Id = string | number

/** The members of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** A request or a notification. */
export interface Message {
  /** Null for a notification, which gets no response. */
  readonly id: Id | null
  readonly method: string
  readonly params: Fields
}

/** A client program's response to a request from this service. */
export interface Response {
  /** The ID of the request; null if the client program could not read it. */
  readonly id: Id | null
  /** Undefined if the client program returned an error. */
  readonly result: unknown
}

/**
 * The error codes of JSON-RPC 2.0 and MCP. `refused` is this service's own code, for refusals that HTTP expresses as a
 * status, such as a wrong key or a rate limit.
 */
export const codes = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  refused: -32000,
  header_mismatch: -32020,
  unsupported_version: -32022
} as const

/**
 * A protocol error, such as an unknown method. If an operation refuses a call, the response is a result, not an
 * `RpcError`.
 */
export interface RpcError {
  readonly code: (typeof codes)[keyof typeof codes]
  readonly message: string
  readonly data?: unknown
}

/**
 * An error and the ID of the message that it responds to. The ID is null if the message's ID is missing or unreadable.
 */
export interface ErrorAnswer {
  readonly id: Id | null
  readonly error: RpcError
}

/** Parses text as JSON. Fails with the error response if the text is not JSON. */
export const parseJson = (text: string): Result.Result<unknown, ErrorAnswer> =>
  Result.try({ try: (): unknown => JSON.parse(text), catch: () => unparsable("This is not valid JSON.") })

/** The response to text that is not JSON. */
export const unparsable = (message: string): ErrorAnswer => ({
  id: null,
  error: { code: codes.parse_error, message }
})

/** The messages in one body. Each message is parsed separately, so some of them can be errors. */
export type Batch = ReadonlyArray<Result.Result<Message, ErrorAnswer>>

/** Parses a JSON value as a message, a response or, if batches are allowed, a batch of messages. */
export const readBody = (
  value: unknown,
  hasBatches: boolean
): Result.Result<Message | Response | Batch, ErrorAnswer> => {
  if (!hasBatches || !Array.isArray(value)) return isResponse(value) ? readResponse(value) : readMessage(value)
  if (value.length === 0) return invalid(null, "A batch must contain at least one message.")
  if (value.length > maxBatch) return invalid(null, `A batch holds at most ${maxBatch} messages.`)
  return Result.succeed(value.map(readMessage))
}

/** The maximum number of messages in a batch. They run concurrently. */
const maxBatch = 10

/** Parses a JSON value as a request or a notification. */
const readMessage = (value: unknown): Result.Result<Message, ErrorAnswer> => {
  if (Array.isArray(value)) return invalid(null, "Batches are not supported here: send one message at a time.")
  if (!Predicate.isObject(value)) return invalid(null, "A message is a JSON object.")
  const { jsonrpc, id, method, params = {} } = value
  const validId = isId(id) ? id : null
  if (jsonrpc !== "2.0") return invalid(validId, 'The member jsonrpc must be "2.0".')
  if (id !== undefined && validId === null) return invalid(null, "id must be a string or a whole number.")
  if (typeof method !== "string") return invalid(validId, "method must be a string.")
  if (!Predicate.isObject(params)) return invalid(validId, "params must be an object.")
  return Result.succeed({ id: validId, method, params })
}

const isResponse = (value: unknown): value is Fields =>
  Predicate.isObject(value) && value.method === undefined && ("result" in value || "error" in value)

/** Parses a JSON value as a response. */
const readResponse = (fields: Fields): Result.Result<Response, ErrorAnswer> => {
  const { id, jsonrpc } = fields
  if (jsonrpc !== "2.0") return invalid(null, 'The member jsonrpc must be "2.0".')
  if (id !== null && !isId(id)) return invalid(null, "id must be the id of the request that this message responds to.")
  return Result.succeed({ id, result: fields.result })
}

/** Whether a value can identify a request. */
export const isId = (id: unknown): id is Id =>
  typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id))

const invalid = (id: Id | null, message: string): Result.Result<never, ErrorAnswer> =>
  Result.fail({ id, error: { code: codes.invalid_request, message } })

/** Encodes a message as JSON text. */
export const textOf = ({ id, method, params }: Message): string =>
  JSON.stringify({ jsonrpc: "2.0", ...(id !== null && { id }), method, params })

/** Encodes a response as JSON text. `text` is the result, already encoded. */
export const result = (id: Id, text: string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`

/** Encodes an error response as JSON text. */
export const failure = ({ id, error }: ErrorAnswer): string => JSON.stringify({ jsonrpc: "2.0", id, error })
