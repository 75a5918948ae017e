import { Predicate, Result } from "effect"
import { Base64 } from "effect/encoding"
import { codes, type ErrorAnswer, type Fields, type Id, isId, type Message, type RpcError } from "./JsonRpc.ts"
import * as View from "./View.ts"

/** The endpoint's path over HTTP. */
export const path = "/v1/mcp"

/** The MCP revisions without a handshake, newest first. In them, each request describes its client. */
export const modern = ["2026-07-28"] as const

/** The MCP revisions with an `initialize` handshake, newest first. The SSE transport of 2024-11-05 is not supported. */
export const legacy = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const

/** The revision that is assumed if a message names no revision. */
const assumedRevision = "2025-03-26"

/**
 * Whether batches are allowed: only in 2025-03-26, the one revision that has them, or if the message names no revision.
 */
export const hasBatches = (version: string | null): boolean => version === null || version === "2025-03-26"

/** The supported revisions, newest first. */
export const supported: ReadonlyArray<string> = [...modern, ...legacy]

/**
 * Whether a message follows a revision without a handshake (`modern`) or with a handshake (`legacy`). A plain
 * `tools/call` that names no revision is `legacy`.
 */
export type Era = "modern" | "legacy"

const versionKey = "io.modelcontextprotocol/protocolVersion"
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
const clientKey = "io.modelcontextprotocol/clientInfo"

/** The key in a result's `_meta` that describes the server. */
export const serverKey = "io.modelcontextprotocol/serverInfo"

const metaOf = ({ params }: Pick<Message, "params">): Fields =>
  Predicate.isObject(params._meta) ? params._meta : noFields
const noFields: Fields = {}

const isModern = (version: unknown): boolean => typeof version === "string" && version >= modern[0]

/** The era of a message: `modern` if its `_meta` or its `MCP-Protocol-Version` header names a modern revision. */
export const eraOf = (message: Message, version: string | null): Era => {
  const claim = metaOf(message)[versionKey]
  if (claim !== undefined && typeof claim !== "string") return "modern"
  return isModern(claim) || isModern(version) ? "modern" : "legacy"
}

/** Refuses a message that cannot be part of a batch: a handshake, or a message of a revision without batches. */
export const checkBatchMember = (message: Message): Result.Result<Message, ErrorAnswer> =>
  message.method !== "initialize" && eraOf(message, null) === "legacy"
    ? Result.succeed(message)
    : Result.fail({
        id: message.id,
        error: { code: codes.invalid_request, message: "This message cannot be part of a batch." }
      })

/** How a client describes itself. */
export interface Client {
  readonly name: string
  readonly version: string | null
}

/** How many characters of a client's name and version are kept. */
const maxClientText = 200

/** Reads a client's description of itself; null if it contains no name. */
export const clientOf = (info: unknown): Client | null => {
  if (!Predicate.isObject(info) || typeof info.name !== "string" || info.name === "") return null
  const version = typeof info.version === "string" ? info.version.slice(0, maxClientText) : null
  return { name: info.name.slice(0, maxClientText), version }
}

/** The progress token of a call; null if the client sent no token or its token is too long. */
export const progressTokenOf = (message: Pick<Message, "params">): Id | null => {
  const { progressToken } = metaOf(message)
  return isId(progressToken) && String(progressToken).length <= longestToken ? progressToken : null
}

/** The maximum length of a progress token, in characters. Every progress notification repeats the token. */
const longestToken = 256

/** Drops the parameters that no method reads, so that a waiting call does not keep them in memory. */
export const withoutUnread = ({ id, method, params }: Message, era: Era): Message => {
  const texts = ["name", "protocolVersion", "uri"].flatMap((name) =>
    Predicate.isString(params[name]) ? [[name, params[name]] as const] : []
  )
  const _meta = { progressToken: progressTokenOf({ params }) }
  const { inputResponses, requestState } = params
  // Answers to questions are in the parameters only in modern revisions, together with the state of the question.
  const answered = era === "modern" && Predicate.isString(requestState) && { inputResponses, requestState }
  return { id, method, params: { arguments: params.arguments, ...Object.fromEntries(texts), _meta, ...answered } }
}

/** What a client declares about itself. */
export interface Introduction {
  /** Null if the client does not give its name. */
  readonly client: Client | null
  /** Whether the client can show the person a form. */
  readonly elicits: boolean
  /** Whether the client can show pages beside results. */
  readonly shows_views: boolean
}

/** A client that declares nothing about itself. */
export const nobody: Introduction = { client: null, elicits: false, shows_views: false }

/**
 * Reads what a client declares about itself in `initialize`. Revisions before 2025-06-18 have no forms, so the client's
 * declaration about forms is ignored in them.
 */
export const readHandshake = ({ capabilities, clientInfo, protocolVersion }: Fields): Introduction => ({
  client: clientOf(clientInfo),
  elicits: negotiate(protocolVersion) >= "2025-06-18" && canElicit(capabilities),
  shows_views: View.canShow(capabilities)
})

/** Reads what a client declares about itself in the `_meta` of a modern message. */
export const readMeta = (message: Message): Introduction => {
  const { [capabilitiesKey]: capabilities, [clientKey]: info } = metaOf(message)
  return { client: clientOf(info), elicits: canElicit(capabilities), shows_views: View.canShow(capabilities) }
}

/**
 * Whether a client with these capabilities can show the person a form. If `elicitation` names no mode, it means forms.
 */
const canElicit = (capabilities: unknown): boolean => {
  const elicitation = Predicate.isObject(capabilities) ? capabilities.elicitation : undefined
  if (!Predicate.isObject(elicitation)) return false
  return elicitation.form === undefined ? elicitation.url === undefined : Predicate.isObject(elicitation.form)
}

/**
 * The headers that repeat parts of a message, so that proxies need not read its body. Null if a header was not sent.
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

/** Checks that a modern request's `_meta` contains the revision and the client's capabilities. */
const checkMeta = (message: Message): Result.Result<string, RpcError> => {
  const meta = metaOf(message)
  const version = meta[versionKey]
  if (typeof version !== "string") return wrongMeta(versionKey, "a revision of the protocol")
  if (!Predicate.isObject(meta[capabilitiesKey])) return wrongMeta(capabilitiesKey, "an object")
  return Result.succeed(version)
}

const wrongMeta = (key: string, expected: string): Result.Result<never, RpcError> =>
  Result.fail({ code: codes.invalid_params, message: `params._meta must contain ${key}: ${expected}.` })

/** Refuses an unsupported revision. The error's `data` lists the supported revisions. */
const checkVersion = (requested: string): Result.Result<void, RpcError> =>
  supported.includes(requested)
    ? Result.void
    : Result.fail({
        code: codes.unsupported_version,
        message: "This revision of the protocol is not supported.",
        data: { supported, requested }
      })

/** Checks that a modern request has the required headers, and that they match the message. */
const checkHeaders = (message: Message, headers: RoutingHeaders, version: string): Result.Result<void, RpcError> => {
  if (headers.version !== version) return mismatch("MCP-Protocol-Version", `params._meta["${versionKey}"]`)
  if (headers.method !== message.method) return mismatch("Mcp-Method", "method")
  const named = namedBy.get(message.method)
  if (named === undefined) return Result.void
  const name = headers.name === null ? null : decodeHeader(headers.name)
  return name === message.params[named] ? Result.void : mismatch("Mcp-Name", `params.${named}`)
}

/** The parameter that the `Mcp-Name` header repeats, by method. */
const namedBy: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["resources/read", "uri"]
])

/** Checks the headers of a notification. It may omit `Mcp-Method`; if the header is present, it must match. */
const checkNotification = (message: Message, { method }: RoutingHeaders): Result.Result<void, RpcError> =>
  method === null || method === message.method ? Result.void : mismatch("Mcp-Method", "method")

const mismatch = (header: string, member: string): Result.Result<never, RpcError> =>
  Result.fail({
    code: codes.header_mismatch,
    message: `The ${header} header must have the value of the message's ${member}.`
  })

/** The headers that a message needs over HTTP. Legacy messages need no headers. */
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

/** Encodes a header value: unchanged if a header allows it, otherwise in base64. */
const encodeHeader = (value: string): string =>
  /^[\x21-\x7e]+$/.test(value) && !wrapped.test(value) ? value : `=?base64?${Base64.encode(value)}?=`

const wrapped = /^=\?base64\?(.*)\?=$/
const utf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Decodes a header value of the form `=?base64?…?=`, and returns other values unchanged; null if it is not valid base64
 * of UTF-8.
 */
const decodeHeader = (value: string): string | null => {
  const inside = wrapped.exec(value)?.[1]
  if (inside === undefined) return value
  return Result.getOrNull(Result.flatMap(Base64.decode(inside), (bytes) => Result.try(() => utf8.decode(bytes))))
}

/**
 * The revision for `initialize` to agree on: the requested one if it is supported, otherwise the newest with a
 * handshake.
 */
export const negotiate = (requested: unknown): string => legacy.find((version) => version === requested) ?? legacy[0]
