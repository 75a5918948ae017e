import { Equal, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * Exceptions to the rule that webhooks may go to any public address and no other: private networks that are allowed,
 * and public addresses that are refused.
 */
export interface Policy {
  /**
   * Networks that are allowed although they are not public, such as 127.0.0.0/8 and ::1/128. Plain `http` is allowed
   * there too.
   */
  readonly allow: ReadonlyArray<IpNetwork.IpNetwork>
  /** The host's own public addresses. They are refused, because a webhook to the host itself would loop. */
  readonly own_addresses: ReadonlyArray<NetAddress.IpAddress>
  /** The host's own names, in lower case. They are refused, because a webhook to the host itself would loop. */
  readonly own_hosts?: ReadonlyArray<string>
  /** Whether this network uses DNS64. If so, an address in 64:ff9b::/96 is judged by the IPv4 address inside it. */
  readonly nat64?: boolean
}

/** The policy without any exceptions: public addresses only. */
export const publicOnly: Policy = { allow: [], own_addresses: [] }

/** Parses a list of networks such as `127.0.0.0/8,::1/128`. Returns null if one of the networks is invalid. */
export const readNetworks = (text: string): ReadonlyArray<IpNetwork.IpNetwork> | null => {
  const parts = text.split(",").map((part) => part.trim())
  return Result.getOrNull(Result.all(parts.filter((part) => part !== "").map((part) => IpNetwork.fromString(part))))
}

const networksOf = (...texts: ReadonlyArray<string>): ReadonlyArray<IpNetwork.IpNetwork> =>
  texts.map(IpNetwork.fromStringUnsafe)

/**
 * IPv4 networks that are refused: every entry in IANA's special-purpose registry (even if it is globally reachable),
 * multicast, reserved ranges, and 168.63.129.16, a public address that leads into Azure.
 */
export const specialIpv4 = networksOf(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
)

/** The whole global unicast range. IPv4-mapped, IPv4-compatible, SIIT and NAT64 addresses are outside it. */
const globalIpv6 = IpNetwork.fromStringUnsafe("2000::/3")
/** Special ranges inside 2000::/3: protocol assignments including Teredo, documentation, 6to4. */
export const specialIpv6 = networksOf("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
/** The globally reachable ranges inside 2001::/23. */
export const carvedOutIpv6 = networksOf(
  "2001:1::1/128",
  "2001:1::2/128",
  "2001:1::3/128",
  "2001:3::/32",
  "2001:4:112::/48",
  "2001:20::/28",
  "2001:30::/28"
)
const nat64Prefix = IpNetwork.fromStringUnsafe("64:ff9b::/96")

const containsAddress = (networks: ReadonlyArray<IpNetwork.IpNetwork>, address: NetAddress.IpAddress): boolean =>
  networks.some((network) => IpNetwork.contains(network, address))

/** Whether an address is in a network that the policy allows, public or not. */
export const isAllowed = (address: string, policy: Policy): boolean => {
  const parsed = NetAddress.ipFromString(address)
  return Result.isSuccess(parsed) && containsAddress(policy.allow, parsed.success)
}

/**
 * Whether webhooks may go to an address. Everything that is not known to be public is refused.
 *
 * An IPv6 address that contains an IPv4 address is refused. The exception is a NAT64 address if `nat64` is set: it is
 * judged by the IPv4 address inside it. Text that is not an address, or that has a zone (`%eth0`), is refused.
 */
export const judgeAddress = (address: string, policy: Policy): "public" | "refused" => {
  const parsed = NetAddress.ipFromString(address)
  return Result.isSuccess(parsed) && isFit(parsed.success, policy) ? "public" : "refused"
}

const isFit = (address: NetAddress.IpAddress, policy: Policy): boolean => {
  if (containsAddress(policy.allow, address)) return true
  if (policy.own_addresses.some((ownAddress) => Equal.equals(ownAddress, address))) return false
  if (NetAddress.isIpv4Address(address)) return !containsAddress(specialIpv4, address)
  if (policy.nat64 === true && IpNetwork.contains(nat64Prefix, address)) {
    return isFit(NetAddress.ipv4FromBytesUnsafe(Uint8Array.from(NetAddress.ipv6ToOctets(address).slice(12))), policy)
  }
  if (!IpNetwork.contains(globalIpv6, address) || isIsatap(address)) return false
  return !containsAddress(specialIpv6, address) || containsAddress(carvedOutIpv6, address)
}

/** Whether an address is an ISATAP address, whose interface identifier can hide an IPv4 address under any prefix. */
const isIsatap = (address: NetAddress.Ipv6Address): boolean => {
  const segments = NetAddress.ipv6ToSegments(address)
  return segments[5] === 0x5efe && (segments[4] === 0 || segments[4] === 0x0200)
}
