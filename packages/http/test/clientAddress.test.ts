import { assert, describe, it } from "@effect/vitest"
import { ClientAddress } from "@quotewire/http"

interface Case {
  readonly trust: string | null
  readonly header?: ClientAddress.ProxyHeader
  readonly remote: string
  readonly says?: string
  readonly is: string
}

const networks = "10.0.0.0/8,fd00::/8"

describe("a caller's address", () => {
  it.each<Case>([
    // By default no header is trusted.
    { trust: null, remote: "192.0.2.1", says: "198.51.100.7", is: "192.0.2.1" },
    { trust: null, remote: "::ffff:192.0.2.1", is: "192.0.2.1" },
    { trust: null, remote: "2001:db8:1:2:3:4:5:6", is: "2001:db8:1:2::/64" },
    { trust: null, remote: "", is: "" },
    // One proxy: it wrote the last entry; the caller may have forged the earlier ones.
    { trust: "1", remote: "10.0.0.1", says: "198.51.100.7", is: "198.51.100.7" },
    { trust: "1", remote: "10.0.0.1", says: "203.0.113.9, 198.51.100.7", is: "198.51.100.7" },
    { trust: "1", remote: "10.0.0.1", says: "198.51.100.7:4711", is: "198.51.100.7" },
    { trust: "1", remote: "10.0.0.1", says: "[2001:db8::1]:4711", is: "2001:db8::/64" },
    { trust: "1", remote: "10.0.0.1", says: "2001:db8::1", is: "2001:db8::/64" },
    { trust: "1", remote: "10.0.0.1", is: "10.0.0.1" },
    { trust: "1", remote: "10.0.0.1", says: "198.51.100.7, unknown", is: "10.0.0.1" },
    { trust: "1", remote: "10.0.0.1", says: "", is: "10.0.0.1" },
    // Two proxies in a row.
    { trust: "2", remote: "10.0.0.1", says: "203.0.113.9, 198.51.100.7, 10.0.0.2", is: "198.51.100.7" },
    { trust: "2", remote: "10.0.0.1", says: "10.0.0.2", is: "10.0.0.2" },
    // By network: the last address that is not a proxy's.
    { trust: networks, remote: "10.0.0.1", says: "203.0.113.9, 198.51.100.7, 10.9.9.9", is: "198.51.100.7" },
    { trust: networks, remote: "192.0.2.1", says: "198.51.100.7", is: "192.0.2.1" },
    { trust: networks, remote: "::ffff:10.0.0.1", says: "198.51.100.7", is: "198.51.100.7" },
    { trust: networks, remote: "fd00::1", says: "10.0.0.3", is: "10.0.0.3" },
    // The standard header `Forwarded`, if the proxies write it. Anybody can then forge `X-Forwarded-For`.
    {
      trust: "1",
      header: "forwarded",
      remote: "10.0.0.1",
      says: 'by=x;for="[2001:db8::7]:80";proto=https',
      is: "2001:db8::/64"
    },
    {
      trust: "1",
      header: "forwarded",
      remote: "10.0.0.1",
      says: "for=203.0.113.9, For=198.51.100.7",
      is: "198.51.100.7"
    },
    { trust: "1", header: "forwarded", remote: "10.0.0.1", says: "for=_hidden", is: "10.0.0.1" }
  ])(
    'is "$is" for a connection from "$remote" with trusted proxies $trust and the forwarding header $says',
    ({ trust, header, remote, says, is }) => {
      const trusted = trust === null ? null : ClientAddress.readTrusted(trust)
      const name = header ?? "x-forwarded-for"
      const other = name === "forwarded" ? "x-forwarded-for" : "forwarded"
      const addressOf = ClientAddress.addressOf(trusted === null ? null : { trusted, header: name })
      const headers = { [other]: "for=203.0.113.66", ...(says !== undefined && { [name]: says }) }
      assert.strictEqual(addressOf(remote, ClientAddress.headerIn(headers)), is)
    }
  )

  it.each(["0", "17", "-1", "all", "10.0.0.0", "10.0.0.0/33", ""])(
    'is not read from headers if the trusted proxies have the invalid value "%s"',
    (trust) => {
      assert.isNull(ClientAddress.readTrusted(trust))
    }
  )
})
