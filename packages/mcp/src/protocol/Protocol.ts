import { Predicate, Result } from "effect"
import { Base64 } from "effect/encoding"
import { codes, type ErrorAnswer, type Fields, type Id, isId, type Message, type RpcError } from "./JsonRpc.ts"
import * as View from "./View.ts"

/** The path of the endpoint over HTTP. */
export const path = "/v1/mcp"

/** The revisions of MCP without a handshake, newest first. Each request identifies its client. */
export const modern = ["2026-07-28"] as const

/** The revisions with an `initialize` handshake, newest first. The SSE transport of 2024-11-05 is not served. */
export const legacy = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const

/** The assumed revision of a message that names none. */
const assumedRevision = "2025-03-26"

/** Whether batches are supported: in the only revision that has them, and if the message names no revision. */
export const hasBatches = (version: string | null): boolean => version === null || version === "2025-03-26"

/** The supported revisions, newest first. */
export const supported: ReadonlyArray<string> = [...modern, ...legacy]

/**
 * Whether a message follows a revision without a handshake (`modern`) or with one (`legacy`). A plain `tools/call` that
 * names no revision is `legacy`.
 */
export type Era = "modern" | "legacy"

const versionKey = "io.modelcontextprotocol/protocolVersion"
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
const clientKey = "io.modelcontextprotocol/clientInfo"

/** The member of a result's `_meta` that describes the server. */
export const serverKey = "io.modelcontextprotocol/serverInfo"

const metaOf = ({ params }: Pick<Message, "params">): Fields =>
  Predicate.isObject(params._meta) ? params._meta : noFields
const noFields: Fields = {}

const isModern = (version: unknown): boolean => typeof version === "string" && version >= modern[0]

/** The era of a message: `modern` if its `_meta` or its `MCP-Protocol-Version` header names such a revision. */
export const eraOf = (message: Message, version: string | null): Era => {
  const claim = metaOf(message)[versionKey]
  if (claim !== undefined && typeof claim !== "string") return "modern"
  return isModern(claim) || isModern(version) ? "modern" : "legacy"
}

/** Refuses a message that cannot be part of a batch: a handshake, or one of a revision without batches. */
export const checkBatchMember = (message: Message): Result.Result<Message, ErrorAnswer> =>
  message.method !== "initialize" && eraOf(message, null) === "legacy"
    ? Result.succeed(message)
    : Result.fail({
        id: message.id,
        error: { code: codes.invalid_request, message: "This message cannot be part of a batch." }
      })

/** The client as it describes itself. */
export interface Client {
  readonly name: string
  readonly version: string | null
}

/** How many characters of a client's name and version are kept. */
const maxClientText = 200

/** Reads a client's description of itself; null if it has no name. */
export const clientOf = (info: unknown): Client | null => {
  if (!Predicate.isObject(info) || typeof info.name !== "string" || info.name === "") return null
  const version = typeof info.version === "string" ? info.version.slice(0, maxClientText) : null
  return { name: info.name.slice(0, maxClientText), version }
}

/** The progress token of a call; null if the program sent none, or one that is too long. */
export const progressTokenOf = (message: Pick<Message, "params">): Id | null => {
  const { progressToken } = metaOf(message)
  return isId(progressToken) && String(progressToken).length <= longestToken ? progressToken : null
}

/** The longest progress token, in characters. Every progress notification repeats the token. */
const longestToken = 256

/** Drops the parameters that no method reads, so that a waiting call does not keep them in memory. */
export const withoutUnread = ({ id, method, params }: Message, era: Era): Message => {
  const texts = ["name", "protocolVersion", "uri"].flatMap((name) =>
    Predicate.isString(params[name]) ? [[name, params[name]] as const] : []
  )
  const _meta = { progressToken: progressTokenOf({ params }) }
  const { inputResponses, requestState } = params
  // The parameters contain answers to a question only in modern revisions, together with its state.
  const answered = era === "modern" && Predicate.isString(requestState) && { inputResponses, requestState }
  return { id, method, params: { arguments: params.arguments, ...Object.fromEntries(texts), _meta, ...answered } }
}

/** What a program declares about itself. */
export interface Introduction {
  /** Null if it does not give its name. */
  readonly client: Client | null
  /** Whether it can show the person a form. */
  readonly elicits: boolean
  /** Whether it can show pages beside results. */
  readonly shows_views: boolean
}

/** A program that declares nothing about itself. */
export const nobody: Introduction = { client: null, elicits: false, shows_views: false }

/**
 * Reads what a program declares about itself in `initialize`. Revisions before 2025-06-18 have no forms, whatever the
 * program declares.
 */
export const readHandshake = ({ capabilities, clientInfo, protocolVersion }: Fields): Introduction => ({
  client: clientOf(clientInfo),
  elicits: negotiate(protocolVersion) >= "2025-06-18" && canElicit(capabilities),
  shows_views: View.canShow(capabilities)
})

/** Reads what a program declares about itself in the `_meta` of a modern message. */
export const readMeta = (message: Message): Introduction => {
  const { [capabilitiesKey]: capabilities, [clientKey]: info } = metaOf(message)
  return { client: clientOf(info), elicits: canElicit(capabilities), shows_views: View.canShow(capabilities) }
}

/** Whether a program with these capabilities can show the person a form. `elicitation` without a mode means forms. */
const canElicit = (capabilities: unknown): boolean => {
  const elicitation = Predicate.isObject(capabilities) ? capabilities.elicitation : undefined
  if (!Predicate.isObject(elicitation)) return false
  return elicitation.form === undefined ? elicitation.url === undefined : Predicate.isObject(elicitation.form)
}

/**
 * The headers that repeat parts of a message, so that proxies do not have to read its body. Null means that a header
 * was not sent.
 */
export interface RoutingHeaders {
  readonly version: string | null
  readonly method: string | null
  readonly name: string | null
}

/**
 * Checks a message before its method runs, and fails with the first problem. `headers` is null if the message did not
 * arrive over HTTP.
 */
export const check = (era: Era, message: Message, headers: RoutingHeaders | null): Result.Result<void, RpcError> => {
  if (era === "legacy") return checkVersion(headers?.version ?? assumedRevision)
  if (message.id === null) return headers === null ? Result.void : checkNotification(message, headers)
  return Result.flatMap(checkMeta(message), (version) =>
    Result.flatMap(headers === null ? Result.void : checkHeaders(message, headers, version), () =>
      checkVersion(version)
    )
  )
}

/**
 * Checks the headers of a response to a request from this service. Only revisions with a handshake have such requests.
 */
export const checkResponse = ({ version }: RoutingHeaders): Result.Result<void, RpcError> =>
  checkVersion(version ?? assumedRevision)

/** Checks that the `_meta` of a modern request contains the revision and the client's capabilities. */
const checkMeta = (message: Message): Result.Result<string, RpcError> => {
  const meta = metaOf(message)
  const version = meta[versionKey]
  if (typeof version !== "string") return wrongMeta(versionKey, "a revision of the protocol")
  if (!Predicate.isObject(meta[capabilitiesKey])) return wrongMeta(capabilitiesKey, "an object")
  return Result.succeed(version)
}

const wrongMeta = (key: string, expected: string): Result.Result<never, RpcError> =>
  Result.fail({ code: codes.invalid_params, message: `params._meta must contain ${key}: ${expected}.` })

/** Refuses an unsupported revision. `data` lists the supported ones. */
const checkVersion = (requested: string): Result.Result<void, RpcError> =>
  supported.includes(requested)
    ? Result.void
    : Result.fail({
        code: codes.unsupported_version,
        message: "This revision of the protocol is not supported.",
        data: { supported, requested }
      })

/** Checks that the headers of a modern request are present and match the message. */
const checkHeaders = (message: Message, headers: RoutingHeaders, version: string): Result.Result<void, RpcError> => {
  if (headers.version !== version) return mismatch("MCP-Protocol-Version", `params._meta["${versionKey}"]`)
  if (headers.method !== message.method) return mismatch("Mcp-Method", "method")
  const named = namedBy.get(message.method)
  if (named === undefined) return Result.void
  const name = headers.name === null ? null : decodeHeader(headers.name)
  return name === message.params[named] ? Result.void : mismatch("Mcp-Name", `params.${named}`)
}

/** The parameters that the `Mcp-Name` header repeats, by method. */
const namedBy: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["resources/read", "uri"]
])

/** A notification may omit `Mcp-Method`. If present, it must match. */
const checkNotification = (message: Message, { method }: RoutingHeaders): Result.Result<void, RpcError> =>
  method === null || method === message.method ? Result.void : mismatch("Mcp-Method", "method")

const mismatch = (header: string, member: string): Result.Result<never, RpcError> =>
  Result.fail({ code: codes.header_mismatch, message: `The ${header} header is required and must equal ${member}.` })

/** The headers that a message needs over HTTP. Messages of the legacy era need none. */
export const headersFor = (message: Message): Readonly<Record<string, string>> => {
  const version = metaOf(message)[versionKey]
  if (typeof version !== "string" || eraOf(message, null) === "legacy") return {}
  const name = message.params[namedBy.get(message.method) ?? ""]
  return {
    "mcp-protocol-version": version,
    "mcp-method": encodeHeader(message.method),
    ...(typeof name === "string" && { "mcp-name": encodeHeader(name) })
  }
}

/** Encodes a value for a header: unchanged if a header allows it, otherwise in base64. */
const encodeHeader = (value: string): string =>
  /^[\x21-\x7e]+$/.test(value) && !wrapped.test(value) ? value : `=?base64?${Base64.encode(value)}?=`

const wrapped = /^=\?base64\?(.*)\?=$/
const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Decodes the value of a header if it has the form `=?base64?…?=`; null if it is not valid base64 of UTF-8. */
const decodeHeader = (value: string): string | null => {
  const inside = wrapped.exec(value)?.[1]
  if (inside === undefined) return value
  return Result.getOrNull(Result.flatMap(Base64.decode(inside), (bytes) => Result.try(() => utf8.decode(bytes))))
}

/** The revision that `initialize` agrees on: the requested one, or the newest with a handshake. */
export const negotiate = (requested: unknown): string => legacy.find((version) => version === requested) ?? legacy[0]
