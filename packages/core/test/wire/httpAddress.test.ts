import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { type Refusal, readBase, readOrigin } from "../../src/wire/HttpAddress.ts"

const refused: ReadonlyArray<readonly [string, Refusal]> = [
  ["", "scheme"],
  ["example.com", "scheme"],
  ["//example.com", "scheme"],
  ["/docs", "scheme"],
  ["https:example.com", "scheme"],
  ["https:/example.com", "scheme"],
  ["ftp://example.com", "scheme"],
  ["file:///etc/passwd", "scheme"],
  ["javascript:alert(1)", "scheme"],
  ["javascript://example.com/%0aalert(1)", "scheme"],
  ["data:text/html,x", "scheme"],
  [" https://example.com", "scheme"],
  ["https://", "malformed"],
  ["https:///example.com", "malformed"],
  ["https://example.com ", "malformed"],
  ["https://exam\nple.com", "malformed"],
  ["https://example.com/\r\nset-cookie: a", "malformed"],
  ["https://example.com/\ta", "malformed"],
  ["https://example.com/\0", "malformed"],
  ["https://example.com/\u2028", "malformed"],
  ["https://exam\u200bple.com", "malformed"],
  ["https://example.com:70000", "malformed"],
  ["https://example.com\\evil", "malformed"],
  ["http://x/'\"><script>", "malformed"],
  ["https://example.com/it's", "malformed"],
  ["https://user@example.com", "credentials"],
  ["https://user:password@example.com", "credentials"],
  ["https://@example.com", "credentials"],
  ["https://example.com?", "query"],
  ["https://example.com/a?b=c", "query"],
  ["https://example.com#", "fragment"],
  ["https://example.com/a#b", "fragment"]
]

describe("a setting's address", () => {
  it.each(refused)("cannot be %j, which is rejected with the reason %s", (text, reason) => {
    assert.deepStrictEqual(readBase(text), Result.fail(reason))
    assert.deepStrictEqual(readOrigin(text), Result.fail(reason))
  })

  it.each([
    ["https://example.com", "https://example.com"],
    ["https://example.com/", "https://example.com"],
    ["https://example.com/insurance/", "https://example.com/insurance"],
    ["https://example.com/insurance//", "https://example.com/insurance"],
    ["https://example.com/a/../b", "https://example.com/b"],
    ["HTTPS://EXAMPLE.com:443", "https://example.com"],
    ["http://127.0.0.1:8787", "http://127.0.0.1:8787"],
    ["http://[::1]:8787", "http://[::1]:8787"],
    ["https://b\u00fccher.example", "https://xn--bcher-kva.example"]
  ])("is normalized from %j to %j", (text, base) => {
    assert.deepStrictEqual(readBase(text), Result.succeed(base))
  })

  it("does not change when it is normalized again", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: false }), (text) => {
        const first = readBase(text)
        fc.pre(Result.isSuccess(first))
        assert.deepStrictEqual(readBase(Result.getOrThrow(first)), first)
      })
    )
  })

  it("is normalized to the origin that browsers send, and must have no path", () => {
    assert.deepStrictEqual(readOrigin("https://Shop.example:443/"), Result.succeed("https://shop.example"))
    assert.deepStrictEqual(readOrigin("https://shop.example/cart"), Result.fail("path"))
  })
})
