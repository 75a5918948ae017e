import { Predicate, Result } from "effect"

/** Identifies a request in its answer. */
export type Id = string | number

/** The members of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** A request or a notification. */
export interface Message {
  /** Null for a notification, which is not answered. */
  readonly id: Id | null
  readonly method: string
  readonly params: Fields
}

/** A program's response to a request from this service. */
export interface Response {
  /** The id of the request; null if the program could not read it. */
  readonly id: Id | null
  /** Undefined if the program answered with an error. */
  readonly result: unknown
}

/**
 * The error codes of JSON-RPC 2.0 and MCP. `refused` is our own, for refusals that HTTP expresses as a status, such as
 * a wrong key or a rate limit.
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

/** A protocol error, such as an unknown method. A refused call is a result instead. */
export interface RpcError {
  readonly code: (typeof codes)[keyof typeof codes]
  readonly message: string
  readonly data?: unknown
}

/** An error and the id of the message that it answers. The id is null if the message has none, or if it cannot be read. */
export interface ErrorAnswer {
  readonly id: Id | null
  readonly error: RpcError
}

/** Parses text as JSON. Fails with the error answer if it is not JSON. */
export const parseJson = (text: string): Result.Result<unknown, ErrorAnswer> =>
  Result.try({ try: (): unknown => JSON.parse(text), catch: () => unparsable("This is not valid JSON.") })

/** The answer to text that is not JSON. */
export const unparsable = (message: string): ErrorAnswer => ({
  id: null,
  error: { code: codes.parse_error, message }
})

/** The messages of one body, each parsed separately. */
export type Batch = ReadonlyArray<Result.Result<Message, ErrorAnswer>>

/** Parses a JSON value as one message, as a response or, if batches are allowed, as a batch. */
export const readBody = (
  value: unknown,
  hasBatches: boolean
): Result.Result<Message | Response | Batch, ErrorAnswer> => {
  if (!hasBatches || !Array.isArray(value)) return isResponse(value) ? readResponse(value) : readMessage(value)
  if (value.length === 0) return invalid(null, "A batch must contain at least one message.")
  if (value.length > maxBatch) return invalid(null, `A batch holds at most ${maxBatch} messages.`)
  return Result.succeed(value.map(readMessage))
}

/** The largest batch. Its messages run concurrently. */
const maxBatch = 10

/** Parses a JSON value as one message. */
const readMessage = (value: unknown): Result.Result<Message, ErrorAnswer> => {
  if (Array.isArray(value)) return invalid(null, "Batches are not supported here: send one message at a time.")
  if (!Predicate.isObject(value)) return invalid(null, "A message is a JSON object.")
  const { jsonrpc, id, method, params = {} } = value
  const known = isId(id) ? id : null
  if (jsonrpc !== "2.0") return invalid(known, 'The member jsonrpc must be "2.0".')
  if (id !== undefined && known === null) return invalid(null, "id must be a string or a whole number.")
  if (typeof method !== "string") return invalid(known, "method must be a string.")
  if (!Predicate.isObject(params)) return invalid(known, "params must be an object.")
  return Result.succeed({ id: known, method, params })
}

const isResponse = (value: unknown): value is Fields =>
  Predicate.isObject(value) && value.method === undefined && ("result" in value || "error" in value)

/** Parses a JSON value as a response. */
const readResponse = (fields: Fields): Result.Result<Response, ErrorAnswer> => {
  const { id, jsonrpc } = fields
  if (jsonrpc !== "2.0") return invalid(null, 'The member jsonrpc must be "2.0".')
  if (id !== null && !isId(id)) return invalid(null, "id must be the id of the request that this message answers.")
  return Result.succeed({ id, result: fields.result })
}

/** Whether a value can identify a request. */
export const isId = (id: unknown): id is Id =>
  typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id))

const invalid = (id: Id | null, message: string): Result.Result<never, ErrorAnswer> =>
  Result.fail({ id, error: { code: codes.invalid_request, message } })

/** The text of a message. */
export const textOf = ({ id, method, params }: Message): string =>
  JSON.stringify({ jsonrpc: "2.0", ...(id !== null && { id }), method, params })

/** The text of an answer. `text` is its result as JSON. */
export const result = (id: Id, text: string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`

/** The text of an error answer. */
export const failure = ({ id, error }: ErrorAnswer): string => JSON.stringify({ jsonrpc: "2.0", id, error })
