import { isAllowed, judgeAddress, type Policy } from "./PublicAddress.ts"

export { isAllowed, judgeAddress, type Policy, publicOnly, readNetworks } from "./PublicAddress.ts"

/** The longest accepted URL, in characters. */
const maxUrlLength = 2_048

/** A URL to which webhooks may go, judging only by its text. */
export interface WebhookUrl {
  /**
   * The URL in the form in which it is stored, shown and used. Its host is in lower case and Punycode, without a
   * trailing dot.
   */
  readonly href: string
  readonly origin: string
  /** The host name that TLS uses (SNI), or an IP address without brackets. */
  readonly hostname: string
  /** The path and the query. */
  readonly path: string
  /** The IP addresses, if the host is an IP address or `localhost` and needs no lookup; null for any other host. */
  readonly addresses: ReadonlyArray<string> | null
}

/** Why a URL is refused. */
export type UrlRefusal = "too_long" | "malformed" | "scheme" | "userinfo" | "fragment" | "port" | "host"

/** The result of judging a URL's text. */
export type Verdict =
  | { readonly verdict: "accepted"; readonly url: WebhookUrl }
  | { readonly verdict: "refused"; readonly reason: UrlRefusal }

/**
 * Judges the text of a URL. Whether its host's addresses are public is judged later, when the host is looked up.
 *
 * The text is parsed once, as every client parses it (WHATWG), and refused if the parser had to repair it. In detail:
 *
 * - Accepted: upper case in the host, a missing first slash, the default port written out, zeros before a port.
 * - Unicode names are accepted and stored in Punycode, which exposes look-alikes. Characters that the parser replaces
 *   (full width, ideographic full stops) or drops (soft hyphens, zero-width spaces) are refused.
 * - One trailing dot is dropped after a name, but refused after an address.
 * - Underscores are refused: no certificate authority may certify such a name.
 * - IP addresses must be in canonical form. `localhost` stands for the loopback addresses that the policy allows.
 * - Port 0 and the ports that browsers block are refused. Other ports, such as 5432, are allowed, because the service
 *   speaks only TLS to them.
 * - Path and query must be written as they are sent: a space or `/../` is refused, while `/%` and `/..%2f` stay
 *   unchanged.
 * - An IPv6 address that contains an IPv4 address is refused. This includes NAT64 addresses, even if the policy accepts
 *   them in lookups.
 * - Plain `http` is allowed only for `localhost` and for IP addresses in the policy's networks, never for other names.
 */
export const judgeUrl = (text: string, policy: Policy): Verdict => {
  if (text.length > maxUrlLength) return refused("too_long")
  const [, scheme = "", authority = "", rest = "", fragment] =
    /^(https?):\/\/([^/?#]*)([^#]*)(#.*)?$/is.exec(text) ?? []
  if (scheme === "") return refused("scheme")
  const isPlain = scheme.length === 4
  if (isPlain && policy.allow.length === 0) return refused("scheme")
  if (authority.includes("@")) return refused("userinfo")
  if (fragment !== undefined) return refused("fragment")
  const url = URL.parse(text)
  const [, host, port] = /^(\[[^[\]]*\]|[^:[\]]*)(?::([0-9]{1,5}))?$/.exec(authority) ?? []
  if (url === null || host === undefined || !isAsWritten(url, host, rest)) return refused("malformed")
  if (port !== undefined && (Number(port) === 0 || blockedPorts.has(Number(port)))) return refused("port")
  withoutDot(url)
  return url.href.length > maxUrlLength ? refused("too_long") : judgeHost(url, isPlain, policy)
}

/**
 * Turns an accepted URL into the form in which it is stored, shown and used. Text that is not a URL stays unchanged.
 */
export const normalize = (text: string): string => {
  const url = URL.parse(text)
  return url === null ? text : withoutDot(url).href
}

const withoutDot = (url: URL): URL => {
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1)
  return url
}

const refused = (reason: UrlRefusal): Verdict => ({ verdict: "refused", reason })

/** Whether the parser changed nothing in the text except case, Punycode and the first slash. */
const isAsWritten = (url: URL, host: string, suffix: string): boolean =>
  (host.toLowerCase() === url.hostname || isPlainUnicode(host, url.hostname)) &&
  pathOf(url) === (suffix.startsWith("/") ? suffix : `/${suffix}`)

const pathOf = (url: URL): string => url.href.slice(url.protocol.length + 2 + url.host.length)

/** Whether a name has non-ASCII letters, and the parser neither replaces nor drops any of its characters. */
const isPlainUnicode = (host: string, hostname: string): boolean =>
  !/^[\0-\x7f]*$/.test(host) &&
  host.normalize("NFKC") === host &&
  !/[\u3002\uff0e\uff61%]|\p{Default_Ignorable_Code_Point}/u.test(host) &&
  !isIpv4(hostname)

// The parser has already turned every spelling of an IPv4 address into dotted decimal form.
const isIpv4 = (hostname: string): boolean => /^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/.test(hostname)

const judgeHost = (url: URL, isPlain: boolean, policy: Policy): Verdict => {
  const literal = isIpv4(url.hostname) ? url.hostname : url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : null
  if (literal !== null) {
    if (judgeAddress(literal, { ...policy, nat64: false }) === "refused") return refused("host")
    if (isPlain && !isAllowed(literal, policy)) return refused("scheme")
    return accepted(url, literal, [literal])
  }
  const { hostname } = url
  if (hostname === "localhost" || hostname.endsWith(".localhost")) {
    const addresses = loopback.filter((address) => isAllowed(address, policy))
    return addresses.length > 0 && isHostName(hostname) ? accepted(url, hostname, addresses) : refused("host")
  }
  if (isPlain) return refused("scheme")
  const isOwn = policy.own_hosts?.includes(hostname) === true
  return isOwn || !isHostName(hostname) || isSpecial(hostname) ? refused("host") : accepted(url, hostname, null)
}

const loopback: ReadonlyArray<string> = ["127.0.0.1", "::1"]

const accepted = (url: URL, hostname: string, addresses: ReadonlyArray<string> | null): Verdict => ({
  verdict: "accepted",
  url: { href: url.href, origin: url.origin, hostname, path: pathOf(url), addresses }
})

const isHostName = (hostname: string): boolean =>
  hostname.length <= 253 &&
  hostname.split(".").every((label) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label) && label.length <= 63)

/** Whether a host name cannot be public, because it is a single label or a special-use name. */
const isSpecial = (hostname: string): boolean =>
  !hostname.includes(".") || specialNames.some((name) => hostname === name || hostname.endsWith(`.${name}`))

/** Special-use names (RFC 6761 and similar), names that collide with private networks, and Kubernetes names. */
const specialNames: ReadonlyArray<string> = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "private",
  "home.arpa",
  "lan",
  "corp",
  "home",
  "mail",
  "svc",
  "test",
  "invalid",
  "example",
  "onion",
  "alt",
  "in-addr.arpa",
  "ip6.arpa"
]

/** The ports that the Fetch standard blocks, because other protocols listen there. */
const blockedPorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080
])
