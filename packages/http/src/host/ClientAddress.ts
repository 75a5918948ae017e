import type { IncomingHttpHeaders } from "node:http"
import { WebhookAddress } from "@quotewire/core"
import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** The proxies in front of the host that are trusted: a number of them in a row, or those in these networks. */
export type TrustedProxies = { readonly hops: number } | { readonly networks: ReadonlyArray<IpNetwork.IpNetwork> }

/** The headers in which proxies tell the address of their client. */
export const proxyHeaders = ["x-forwarded-for", "forwarded"] as const
export type ProxyHeader = (typeof proxyHeaders)[number]

/** The trusted proxies and their header. */
export interface Proxies {
  readonly trusted: TrustedProxies
  /** The header that the proxies write. The other one is ignored, because any client can send it. */
  readonly header: ProxyHeader
}

/** The parts of a request that matter here. */
interface Request {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

const max_hops = 16

/** Parses a number of proxies, or networks such as `10.0.0.0/8,fd00::/8`; null if it is neither. */
export const readTrusted = (text: string): TrustedProxies | null => {
  if (/^[0-9]{1,2}$/.test(text)) {
    const hops = Number(text)
    return hops >= 1 && hops <= max_hops ? { hops } : null
  }
  const networks = WebhookAddress.readNetworks(text)
  return networks === null || networks.length === 0 ? null : { networks }
}

/**
 * The address by which a request's caller is counted. Of an IPv6 address it is the 64-bit network, which one caller owns.
 *
 * Without proxies it is the address of the connection, whatever the headers say. With proxies it is the last address in the
 * header that is not a trusted proxy's. Earlier entries may be forged.
 */
export const of = (proxies: Proxies | null): ((request: Request) => string) =>
  proxies === null
    ? (request) => counted(remoteOf(request))
    : (request) => counted(clientOf(proxies, remoteOf(request), request.headers[proxies.header]))

const remoteOf = (request: Request): string => request.socket.remoteAddress ?? ""

const clientOf = ({ trusted, header }: Proxies, remote: string, value: string | ReadonlyArray<string> | undefined) => {
  const reported = value === undefined ? [] : String(value).split(",")
  let client = remote
  for (let hop = 0; isTrusted(trusted, client, hop); hop++) {
    const entry = reported.pop()
    const before = entry === undefined ? null : addressIn(header === "forwarded" ? forOf(entry) : entry)
    if (before === null) break
    client = before
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

/** The value of `for` in one element of a Forwarded header (RFC 7239). */
const forOf = (element: string): string => /(?:^|;)\s*for=("?)([^";]*)\1\s*(?:;|$)/i.exec(element)?.[2] ?? ""

/** The address in an entry, without port and brackets. */
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
