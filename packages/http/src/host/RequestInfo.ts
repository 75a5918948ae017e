import { ApiError, type FinishedCall, type Pipeline } from "@quotewire/core"
import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import type { Header, Headers, Incoming } from "./Route.ts"
import type { Proxies, TrustedProxies } from "./TrustedProxies.ts"

export { type Proxies, type ProxyHeader, proxyHeaders, readTrusted, type TrustedProxies } from "./TrustedProxies.ts"

/*
 * What a request says: the caller and its address, the revision, the route, and the JSON in its body.
 */

/** Creates a `Pipeline.Request`. */
export const of = (
  incoming: Incoming,
  requestTransport: FinishedCall.Transport,
  input: Pipeline.Request["input"]
): Pipeline.Request => ({
  request_id: incoming.request_id,
  credentials: credentialsOf(incoming),
  revision: { header: incoming.header("service-version") },
  idempotency_key: incoming.header("idempotency-key"),
  transport: requestTransport,
  input
})

/** The credentials of a request to a route that admits no caller without a key. */
export const credentialsOf = (incoming: Incoming): Pipeline.Request["credentials"] => ({
  key: key(incoming.header("authorization")),
  read_handle: incoming.header("read-handle"),
  address: incoming.address,
  keyless: false
})

/**
 * How a request reached a route. It contains the path's pattern, in which `{id}` stands for each identifier; never the
 * path itself.
 */
export const transport = (incoming: Incoming, route: string): FinishedCall.Transport => ({
  method: incoming.method,
  route,
  status: null,
  user_agent: incoming.header("user-agent"),
  client_name: null,
  client_version: null
})

/**
 * Creates a cache for the `FinishedCall.Transport` objects of requests to one route.
 *
 * A program usually calls the same route many times. If a call has the same transport as the previous call, the object
 * is reused. That saves memory, because the request log stores these objects.
 */
export const cachedTransports = (route: string): ((incoming: Incoming) => FinishedCall.Transport) => {
  let last: FinishedCall.Transport | null = null
  return (incoming) => {
    const userAgent = incoming.header("user-agent")
    if (last === null || last.method !== incoming.method || last.user_agent !== userAgent)
      last = transport(incoming, route)
    return last
  }
}

/** Creates a reader for headers in an object. A header whose value is a list is treated as not sent. */
export const headerIn =
  (headers: Headers): Header =>
  (name) => {
    const value = headers[name]
    return typeof value === "string" ? value : null
  }

/**
 * The key in an `Authorization` header (api.md, Headers).
 *
 * Null if the header was not sent. If the header has a different scheme or no key, the result is an empty string, which
 * is never a valid key.
 */
export const key = (authorization: string | null): string | null => {
  if (authorization === null) return null
  return bearer.exec(authorization)?.[1] ?? ""
}

const bearer = /^bearer +([^\s,]+) *$/i

/**
 * Creates a function that finds the address by which a caller is counted for rate limits. For IPv6 it returns the
 * 64-bit network, because one caller can own all addresses in it.
 *
 * `remote` is the connection's address, or an empty string if it has none. Without trusted proxies, the function uses
 * that address and ignores headers. With proxies, it uses the last address in the proxy header that does not belong to
 * a trusted proxy. Earlier entries may be forged.
 */
export const addressOf = (proxies: Proxies | null): ((remote: string, header: Header) => string) =>
  proxies === null
    ? (remote) => counted(remote)
    : (remote, header) => counted(clientOf(proxies, remote, header(proxies.header)))

const clientOf = ({ trusted, header }: Proxies, remote: string, value: string | null) => {
  const reported = value === null ? [] : value.split(",")
  let client = remote
  for (let hop = 0; isTrusted(trusted, client, hop); hop++) {
    const entry = reported.pop()
    const previousHop = entry === undefined ? null : addressIn(header === "forwarded" ? forOf(entry) : entry)
    if (previousHop === null) break
    client = previousHop
  }
  return client
}

const isTrusted = (trusted: TrustedProxies, address: string, hop: number): boolean => {
  if ("hops" in trusted) return hop < trusted.hops
  const parsed = NetAddress.ipFromString(address)
  if (Result.isFailure(parsed)) return false
  const ip = NetAddress.toCanonical(parsed.success)
  return trusted.networks.some((network) => IpNetwork.contains(network, ip))
}

/** The `for` value in one element of a Forwarded header (RFC 7239). */
const forOf = (element: string): string => /(?:^|;)\s*for=("?)([^";]*)\1\s*(?:;|$)/i.exec(element)?.[2] ?? ""

/** The IP address in a header entry, without port and brackets. */
const addressIn = (entry: string): string | null => {
  const text = entry.trim()
  const [, bracketed] = /^\[([^\]]*)\](?::[0-9]*)?$/.exec(text) ?? []
  const address = bracketed ?? text.replace(/^([0-9.]+):[0-9]*$/, "$1")
  return Result.isSuccess(NetAddress.ipFromString(address)) ? address : null
}

const counted = (address: string): string => {
  if (!address.includes(":")) return address
  const parsed = NetAddress.ipFromString(address)
  if (Result.isFailure(parsed)) return address
  const ip = NetAddress.toCanonical(parsed.success)
  if (NetAddress.isIpv4Address(ip)) return NetAddress.formatIp(ip)
  return IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, 64))
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Parses a body as JSON. The body must be uncompressed UTF-8, and no header may contradict that. Otherwise it is
 * refused with `invalid_json`, and the error names a header that is at fault.
 *
 * A body without a content type is treated as JSON, because the API accepts nothing else.
 */
export const json = (bytes: Uint8Array, header: Header): Result.Result<unknown, ApiError.ApiError<"invalid_json">> => {
  const encoding = header("content-encoding")
  if (encoding !== null && encoding.toLowerCase() !== "identity") return compressed
  const type = header("content-type")
  if (type !== null && !jsonType.test(type)) return otherType
  return Result.try({ try: (): unknown => JSON.parse(utf8.decode(bytes)), catch: () => ApiError.make("invalid_json") })
}

const jsonType = /^\s*application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i

const compressed = Result.fail(
  ApiError.make("invalid_json", {
    message: "The body is compressed. Send it uncompressed, without a Content-Encoding header."
  })
)

const otherType = Result.fail(
  ApiError.make("invalid_json", { message: "The Content-Type header must be application/json, in UTF-8." })
)
