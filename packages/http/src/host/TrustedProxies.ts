import { WebhookAddress } from "@quotewire/core/program"
import type { IpNetwork } from "effect/net"

/** The trusted proxies in front of the host: a number of consecutive hops, or all proxies in these networks. */
export type TrustedProxies = { readonly hops: number } | { readonly networks: ReadonlyArray<IpNetwork.IpNetwork> }

/** The headers in which proxies report their client's address. */
export const proxyHeaders = ["x-forwarded-for", "forwarded"] as const
export type ProxyHeader = (typeof proxyHeaders)[number]

/** The trusted proxies and their header. */
export interface Proxies {
  readonly trusted: TrustedProxies
  /** The header that the proxies write. The other header is ignored, because any client can send it. */
  readonly header: ProxyHeader
}

const maxHops = 16

/** Parses a number of proxies, or networks such as `10.0.0.0/8,fd00::/8`; null if the text is neither. */
export const readTrusted = (text: string): TrustedProxies | null => {
  if (/^[0-9]{1,2}$/.test(text)) {
    const hops = Number(text)
    return hops >= 1 && hops <= maxHops ? { hops } : null
  }
  const networks = WebhookAddress.readNetworks(text)
  return networks === null || networks.length === 0 ? null : { networks }
}
