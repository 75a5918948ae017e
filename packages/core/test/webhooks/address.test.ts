import { assert, describe, it } from "@effect/vitest"
import { IpNetwork, NetAddress } from "effect/net"
import * as fc from "fast-check"
import { carvedOutIpv6, specialIpv4, specialIpv6 } from "../../src/webhooks/PublicAddress.ts"
import {
  isAllowed,
  judgeAddress,
  judgeUrl,
  type Policy,
  publicOnly,
  readNetworks
} from "../../src/webhooks/WebhookAddress.ts"
import addresses from "./addresses.json" with { type: "json" }

const allowing = (text: string, more: Partial<Policy> = {}): Policy => ({
  ...publicOnly,
  allow: readNetworks(text) ?? assert.fail(`${text} holds no networks`),
  ...more
})
const loopback = allowing("127.0.0.0/8, ::1/128")

const verdict = (text: string, policy: Policy = publicOnly) => judgeUrl(text, policy).verdict
const reason = (text: string, policy: Policy = publicOnly) => {
  const judged = judgeUrl(text, policy)
  return judged.verdict === "refused" ? judged.reason : null
}
const accepted = (text: string, policy: Policy = publicOnly) => {
  const judged = judgeUrl(text, policy)
  return judged.verdict === "accepted" ? judged.url : assert.fail(`${text}: ${judged.reason}`)
}

describe("the webhook URL check", () => {
  /** The decisions for cases that the rules leave open. */
  const choices: { readonly [url: string]: "accepted" | "refused" } = {
    "https://EXAMPLE.com/": "accepted",
    "https://exa_mple.com/": "refused",
    "https://example.com./": "accepted",
    "https://\u0435xample.com/": "accepted",
    "https://\u0e51\u0e52\u0e57.\u0e50.\u0e50.\u0e51/": "accepted",
    "\u0000https://example.com/": "refused",
    "  https://example.com/h  ": "refused",
    "https:///example.com/h": "refused",
    "https://exam\tple.com/h": "refused",
    "https://example.com/a b": "refused",
    "https://example.com:80\\@127.0.0.1/": "refused",
    "https:/example.com/h": "refused",
    "https://example.com:1/": "refused",
    "https://example.com:10080/": "refused",
    "https://example.com:22/": "refused",
    "https://example.com:25/": "refused",
    "https://example.com:5432/": "accepted",
    "https://example.com:6379/": "accepted",
    "https://example.com/%": "accepted",
    "https://example.com/..%2f..%2f": "accepted",
    "https://example.com/?token=secret": "accepted",
    "https://[64:ff9b::5db8:d822]/": "refused"
  }
  const chosen = (url: string) => choices[url] ?? (url.length > 2_048 ? "refused" : undefined)

  const expected = (url: string, expect: string) =>
    expect === "accept" ? "accepted" : expect === "reject" ? "refused" : chosen(url)

  for (const [index, { class: kind, expect, url }] of addresses.cases.entries()) {
    if (expect === "reject_at_connect") continue
    const right = expected(url, expect)
    const decides = right === "accepted" ? "accepts" : "refuses"
    it(`${decides} the published case ${index} (${kind}): ${JSON.stringify(url).slice(0, 80)}`, () => {
      assert.strictEqual(verdict(url), right)
      // Allowing a host's own machine allows nothing else.
      const isLoopback = kind === "localhost-names" || /127|::1\]|localhost/.test(url)
      if (!isLoopback && expect === "reject") assert.strictEqual(verdict(url, loopback), "refused")
    })
  }

  it("accepts published cases with a host name, which is judged at lookup", () => {
    const named = addresses.cases.filter(({ expect, url }) => expect === "reject_at_connect" && URL.canParse(url))
    for (const { url } of named) {
      if (url.includes(" ") || url.includes("<") || url.includes(".test.invalid")) continue
      assert.strictEqual(accepted(url).addresses, null)
    }
  })
})

describe("a URL's text", () => {
  it("is normalized for storage", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["https://example.com", "https://example.com/"],
      ["HTTPS://Example.COM/Path?Q=1", "https://example.com/Path?Q=1"],
      ["https://example.com?x=1", "https://example.com/?x=1"],
      ["https://example.com./h", "https://example.com/h"],
      ["https://example.com:0443/h", "https://example.com/h"],
      ["https://b\u00fccher.de/\u0025C3", "https://xn--bcher-kva.de/%C3"],
      ["https://\u0435xample.com/", "https://xn--xample-2of.com/"],
      ["https://example.com/?", "https://example.com/?"],
      ["https://[2001:200::1]:8443/h", "https://[2001:200::1]:8443/h"]
    ]
    for (const [text, href] of cases) assert.strictEqual(accepted(text).href, href)
    assert.deepStrictEqual(accepted("https://hooks.example.com:8443/a/b?x=1"), {
      href: "https://hooks.example.com:8443/a/b?x=1",
      origin: "https://hooks.example.com:8443",
      hostname: "hooks.example.com",
      path: "/a/b?x=1",
      addresses: null
    })
    assert.deepStrictEqual(accepted("https://[2001:200::1]/").addresses, ["2001:200::1"])
    assert.strictEqual(accepted("https://[2001:200::1]/").hostname, "2001:200::1")
  })

  it("is rejected if the parser would repair it", () => {
    const mended = [
      "https://example.com\\h",
      "https://exam\nple.com/",
      "https://example.com/\u00fc",
      "https://example.com/a/../b",
      "https://example.com/./b",
      "https://example.com/%2e%2e/b",
      "https://example.com/a\\b",
      'https://example.com/"',
      'https://example.com/"><script>',
      "https://example.com/\r\nset-cookie: a",
      "https://example.com/?a=\nb",
      "https://example.com/?a b",
      "https://example.com:/",
      "https://example.com:000443/",
      "https://ex%61mple.com/",
      "https://\uff45xample.com/",
      "https://example\u3002com/",
      "https://exam\u00adple.com/",
      "https://exam\u200bple.com/",
      "https://1.1/",
      "https://0x01010101/",
      "https://1.1.1.1./",
      "https://[2001:200:0:0:0:0:0:1]/",
      "https://[2001:0200::1]/"
    ]
    for (const text of mended) assert.strictEqual(reason(text), "malformed", text)
  })

  it("is rejected with a reason, such as too_long, scheme or port", () => {
    assert.strictEqual(reason(`https://example.com/${"a".repeat(2_029)}`), "too_long")
    assert.strictEqual(reason(`https://example.com/${"a".repeat(2_028)}`), null)
    assert.strictEqual(reason("ftp://example.com/"), "scheme")
    assert.strictEqual(reason("https://@example.com/"), "userinfo")
    assert.strictEqual(reason("https://a:b@example.com/"), "userinfo")
    assert.strictEqual(reason("https://example.com/@b"), null)
    assert.strictEqual(reason("https://example.com/#"), "fragment")
    assert.strictEqual(reason("https://example.com/?a#b"), "fragment")
    assert.strictEqual(reason("https://example.com:0/"), "port")
    assert.strictEqual(reason("https://example.com:00/"), "port")
    assert.strictEqual(reason("https://example.com:6000/"), "port")
  })

  it("never makes the check throw", () => {
    const parts = fc.oneof(
      fc.constantFrom(
        "https://",
        "http://",
        "//",
        "@",
        ":",
        "\\",
        "#",
        "?",
        "[",
        "]",
        "::1",
        "127.0.0.1",
        "a.com",
        "\t"
      ),
      fc.string({ unit: "binary", maxLength: 4 })
    )
    const texts = fc.array(parts, { maxLength: 8 }).map((list) => list.join(""))
    fc.assert(
      fc.property(texts, (text) => {
        const judged = judgeUrl(text, loopback)
        if (judged.verdict === "refused") return
        // The stored form is judged in the same way.
        assert.deepStrictEqual(judgeUrl(judged.url.href, loopback), judged)
      }),
      { numRuns: 5_000 }
    )
  })
})

describe("the message to callers", () => {
  it("is the same for every refused host", () => {
    const hosts = ["10.0.0.1", "8.8.8.8.invalid", "intranet", "[::1]", "169.254.169.254", "x.local", "-a.example.com"]
    for (const host of hosts) assert.strictEqual(reason(`https://${host}/`), "host", host)
  })
})

describe("networks allowed by the settings", () => {
  it("can be addressed by IP address or as localhost, even over http", () => {
    assert.deepStrictEqual(accepted("http://127.0.0.1:9000/h", loopback).addresses, ["127.0.0.1"])
    assert.deepStrictEqual(accepted("http://[::1]:9000/h", loopback).addresses, ["::1"])
    assert.deepStrictEqual(accepted("http://localhost:9000/h", loopback).addresses, ["127.0.0.1", "::1"])
    assert.deepStrictEqual(accepted("https://a.localhost/h", allowing("::1/128")).addresses, ["::1"])
    assert.strictEqual(accepted("https://10.1.2.3/", allowing("10.0.0.0/8")).hostname, "10.1.2.3")
  })

  it("do not allow http to addresses outside these networks", () => {
    for (const host of ["example.com", "8.8.8.8", "[2001:200::1]"]) {
      assert.strictEqual(reason(`http://${host}/`, loopback), "scheme")
    }
    assert.strictEqual(reason("http://10.0.0.1/", loopback), "host")
    assert.strictEqual(reason("http://127.0.0.1/", publicOnly), "scheme")
    assert.strictEqual(reason("http://localhost/", allowing("10.0.0.0/8")), "host")
    assert.strictEqual(reason("https://[::ffff:127.0.0.1]/", loopback), "malformed")
    assert.strictEqual(reason("https://[::ffff:7f00:1]/", loopback), "host")
  })

  it("are parsed from text", () => {
    assert.strictEqual(readNetworks("")?.length, 0)
    assert.strictEqual(readNetworks("10.0.0.0/8,::1/128,")?.length, 2)
    for (const wrong of ["10.0.0.1/8", "10.0.0.0", "localhost", "10.0.0.0/33", "::/129"]) {
      assert.strictEqual(readNetworks(wrong), null)
    }
  })
})

describe("the host's own addresses", () => {
  const own: Policy = {
    ...publicOnly,
    own_addresses: [NetAddress.ipFromStringUnsafe("8.8.8.8"), NetAddress.ipFromStringUnsafe("2001:200::1")],
    own_hosts: ["api.example.com"]
  }

  it("are rejected, including the host's names", () => {
    assert.strictEqual(judgeAddress("8.8.8.8", own), "refused")
    assert.strictEqual(judgeAddress("8.8.8.9", own), "public")
    assert.strictEqual(judgeAddress("2001:200:0::1", own), "refused")
    assert.strictEqual(reason("https://API.example.com./v1/events", own), "host")
    assert.strictEqual(reason("https://api2.example.com/v1/events", own), null)
  })

  it("are allowed on loopback if the settings allow loopback", () => {
    const policy = { ...loopback, own_addresses: NetAddress.loopbackAddresses }
    assert.strictEqual(judgeAddress("127.0.0.1", policy), "public")
  })
})

const word = fc.nat(0xffff_ffff)
const octets = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255)
const dotted = (value: number) => octets(value).join(".")
const isSpecial = (value: number) =>
  specialIpv4.some((network) => IpNetwork.contains(network, NetAddress.ipFromStringUnsafe(dotted(value))))

/** Addresses in a network, including its first and last. */
const inside = (network: IpNetwork.IpNetwork) => {
  const first = bits(network.address)
  const last = bits(IpNetwork.lastAddress(network))
  const width = NetAddress.width(network.address)
  return fc.oneof(fc.constant(first), fc.constant(last), fc.bigInt(first, last)).map((value) => textOf(value, width))
}

const bits = (address: NetAddress.IpAddress): bigint =>
  BigInt(
    `0x${Buffer.from(NetAddress.isIpv4Address(address) ? NetAddress.ipv4ToOctets(address) : NetAddress.ipv6ToOctets(address)).toString("hex")}`
  )

const textOf = (value: bigint, width: number): string => {
  const bytes = Uint8Array.from(Buffer.from(value.toString(16).padStart(width / 4, "0"), "hex"))
  return NetAddress.formatIp(
    width === 32 ? NetAddress.ipv4FromBytesUnsafe(bytes) : NetAddress.ipv6FromBytesUnsafe(bytes)
  )
}

describe("the address policy", () => {
  for (const network of specialIpv4) {
    it(`rejects ${IpNetwork.format(network)}, and judges the addresses next to the range separately`, () => {
      fc.assert(
        fc.property(inside(network), (address) => {
          assert.strictEqual(judgeAddress(address, publicOnly), "refused")
          assert.strictEqual(verdict(`https://${address}/`), "refused")
          assert.strictEqual(judgeAddress(address, allowing(IpNetwork.format(network))), "public")
        })
      )
      const first = Number(bits(network.address))
      const last = Number(bits(IpNetwork.lastAddress(network)))
      for (const neighbor of [first - 1, last + 1]) {
        if (neighbor < 0 || neighbor > 0xffff_ffff || isSpecial(neighbor)) continue
        assert.strictEqual(judgeAddress(dotted(neighbor), publicOnly), "public", dotted(neighbor))
      }
    })

    it(`rejects IPv6 forms that embed an address in ${IpNetwork.format(network)}`, () => {
      fc.assert(
        fc.property(inside(network), fc.bigInt(0n, (1n << 64n) - 1n), (address, random) => {
          const value = bits(NetAddress.ipFromStringUnsafe(address))
          for (const form of embedded(value, random)) {
            assert.strictEqual(judgeAddress(form, publicOnly), "refused", form)
            assert.strictEqual(verdict(`https://[${form}]/`), "refused", form)
            assert.strictEqual(judgeAddress(form, { ...publicOnly, nat64: true }), "refused", form)
          }
        })
      )
    })
  }

  /** Every known way to write an IPv4 address into an IPv6 address. */
  const embedded = (value: bigint, random: bigint): ReadonlyArray<string> => {
    const flipped = value ^ 0xffff_ffffn
    const prefix = (0x2600n << 112n) | ((random & 0xffff_ffff_ffffn) << 64n)
    return [
      value,
      (0xffffn << 32n) | value,
      (0xffffn << 48n) | value,
      (0x5efen << 32n) | value,
      (0x0064_ff9bn << 96n) | value,
      (0x0064_ff9bn << 96n) | (1n << 80n) | value,
      (0x2002n << 112n) | (value << 80n) | (random & ((1n << 80n) - 1n)),
      (0x2001_0000n << 96n) | (0x0808_0808n << 64n) | (random & 0xffff_ffff_0000_0000n) | flipped,
      (0x2001_0000n << 96n) | (value << 64n) | random,
      prefix | (0x0000_5efen << 32n) | value,
      prefix | (0x0200_5efen << 32n) | value
    ].map((form) => textOf(form, 128))
  }

  it("allows a public IPv4 address, but not if it is embedded in an IPv6 address", () => {
    fc.assert(
      fc.property(word, fc.bigInt(0n, (1n << 64n) - 1n), (value, random) => {
        const expected = isSpecial(value) ? "refused" : "public"
        assert.strictEqual(judgeAddress(dotted(value), publicOnly), expected)
        assert.strictEqual(verdict(`https://${dotted(value)}/`), expected === "public" ? "accepted" : "refused")
        for (const form of embedded(BigInt(value), random)) {
          assert.strictEqual(judgeAddress(form, publicOnly), "refused", form)
        }
      }),
      { numRuns: 1_000 }
    )
  })

  it("judges a DNS64 lookup result by its embedded IPv4 address, but rejects such an address in a URL", () => {
    const policy: Policy = { ...publicOnly, nat64: true, own_addresses: [NetAddress.ipFromStringUnsafe("8.8.4.4")] }
    fc.assert(
      fc.property(word, (value) => {
        const form = textOf((0x0064_ff9bn << 96n) | BigInt(value), 128)
        assert.strictEqual(judgeAddress(form, policy), isSpecial(value) ? "refused" : "public")
        assert.strictEqual(verdict(`https://[${form}]/`, policy), "refused")
      })
    )
    assert.strictEqual(judgeAddress("64:ff9b::808:404", policy), "refused")
  })

  it("allows IPv6 addresses only inside 2000::/3", () => {
    const global = IpNetwork.fromStringUnsafe("2000::/3")
    const carved = (address: string) =>
      carvedOutIpv6.some((network) => IpNetwork.contains(network, NetAddress.ipFromStringUnsafe(address)))
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 128n) - 1n), (value) => {
        const address = textOf(value, 128)
        if (IpNetwork.contains(global, NetAddress.ipFromStringUnsafe(address))) return
        assert.strictEqual(judgeAddress(address, publicOnly), "refused", address)
        assert.strictEqual(verdict(`https://[${address}]/`), "refused", address)
      }),
      { numRuns: 1_000 }
    )
    for (const network of specialIpv6) {
      fc.assert(
        fc.property(inside(network), (address) => {
          assert.strictEqual(judgeAddress(address, publicOnly), carved(address) ? "public" : "refused", address)
        })
      )
    }
    for (const network of carvedOutIpv6) {
      fc.assert(fc.property(inside(network), (address) => judgeAddress(address, publicOnly) === "public"))
    }
    for (const address of [
      "2000::1",
      "2001:200::",
      "2001:db7:ffff::",
      "2001:db9::",
      "2003::1",
      "3ffe:ffff::",
      "3fff:1000::"
    ]) {
      assert.strictEqual(judgeAddress(address, publicOnly), "public", address)
    }
  })

  it("rejects text that is not an IP address", () => {
    for (const text of [
      "",
      "example.com",
      "127.1",
      "0x7f.1",
      "1.2.3.4 ",
      "fe80::1%eth0",
      "2600::1%1",
      "[2600::1]",
      "1.2.3.4/32"
    ]) {
      assert.strictEqual(judgeAddress(text, allowing("0.0.0.0/0,::/0")), "refused", text)
      assert.isFalse(isAllowed(text, allowing("0.0.0.0/0,::/0")))
    }
  })
})
