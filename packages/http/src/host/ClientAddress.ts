import type { IncomingHttpHeaders } from "node:http"
import { WebhookAddress } from "@quotewire/core"
import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** Which proxies in front of the host are believed: so many in a row, or those in these networks. */
export type TrustedProxies = { readonly hops: number } | { readonly networks: ReadonlyArray<IpNetwork.IpNetwork> }

/** The headers in which proxies tell whose request they pass on. */
export const proxyHeaders = ["x-forwarded-for", "forwarded"] as const
export type ProxyHeader = (typeof proxyHeaders)[number]

/** What is believed of requests that come through proxies. */
export interface Proxies {
  readonly trusted: TrustedProxies
  /** The header that the proxies write; the other one may come from anybody, and is never looked at. */
  readonly header: ProxyHeader
}

/** What is looked at of a request. */
interface Request {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

const max_hops = 16

/** Reads a number of proxies, or networks such as `10.0.0.0/8,fd00::/8`; null where it is neither. */
export const readTrusted = (text: string): TrustedProxies | null => {
  if (/^[0-9]{1,2}$/.test(text)) {
    const hops = Number(text)
    return hops >= 1 && hops <= max_hops ? { hops } : null
  }
  const networks = WebhookAddress.readNetworks(text)
  return networks === null || networks.length === 0 ? null : { networks }
}

/**
 * The address that a request's caller is counted by: of IPv6 the network of 64 bits, since that is what one caller has.
 *
 * Without proxies it is the other side of the connection, whatever the headers say. With them it is the last address in
 * the header that no trusted proxy has: what stands in front of it may be made up.
 */
export const of = (proxies: Proxies | null): ((request: Request) => string) =>
  proxies === null
    ? (request) => counted(remoteOf(request))
    : (request) => counted(clientOf(proxies, remoteOf(request), request.headers[proxies.header]))

const remoteOf = (request: Request): string => request.socket.remoteAddress ?? ""

const clientOf = ({ trusted, header }: Proxies, remote: string, value: string | ReadonlyArray<string> | undefined) => {
  const told = value === undefined ? [] : String(value).split(",")
  let client = remote
  for (let hop = 0; isTrusted(trusted, client, hop); hop++) {
    const entry = told.pop()
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

/** What `for` says in one element of a Forwarded header (RFC 7239). */
const forOf = (element: string): string => /(?:^|;)\s*for=("?)([^";]*)\1\s*(?:;|$)/i.exec(element)?.[2] ?? ""

/** The address in an entry, which may come with a port, and with brackets. */
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
