import { assert, describe, it } from "@effect/vitest"
import { ConsoleLink, NodeCrypto } from "@quotewire/http"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { capturedLog } from "./handlers/support.ts"
import { start } from "./support/host.ts"

const key = "sandbox_server_of_this_test"

const makeLink = ConsoleLink.make(Redacted.make(key)).pipe(Effect.provide(NodeCrypto.layer))

const fromPage = { "sec-fetch-site": "same-origin" }

/** A host with a link, and how its page signs in. */
const host = Effect.gen(function* () {
  const link = yield* makeLink
  const { send, url } = yield* start({ console: { link } })
  const signIn = (json: unknown, headers: Record<string, string> = fromPage) =>
    Effect.map(send("POST", "/console/session", { key: null, json, headers }), ({ headers: sent, status, text }) => ({
      status,
      headers: sent,
      body: JSON.parse(text)
    }))
  return { code: Redacted.value(link.code), signIn, url }
})

describe("signing in with a console link", () => {
  it.live("returns the key only once", () =>
    Effect.gen(function* () {
      const { code, signIn } = yield* host
      const first = yield* signIn({ link: code })
      assert.deepStrictEqual([first.status, first.body], [200, { key }])
      assert.strictEqual(first.headers.get("cache-control"), "no-store")
      const second = yield* signIn({ link: code })
      assert.deepStrictEqual([second.status, second.body.error.code], [404, "not_found"])
    })
  )

  it.live("refuses wrong codes and other sites' pages without using up the link", () =>
    Effect.gen(function* () {
      const { code, signIn, url } = yield* host
      for (const wrong of ["", "x", `${code}x`, code.slice(1)]) {
        assert.strictEqual((yield* signIn({ link: wrong })).status, 404, wrong)
      }
      const others = [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site", origin: url },
        { "sec-fetch-site": "none" },
        { origin: "https://evil.example" },
        { origin: "null" },
        {}
      ]
      for (const headers of others) {
        const refused = yield* signIn({ link: code }, headers)
        assert.deepStrictEqual([refused.status, refused.body.error.code], [403, "forbidden"], JSON.stringify(headers))
      }
      assert.strictEqual((yield* signIn({ link: code }, { origin: url })).status, 200)
    })
  )

  it.live("refuses a malformed body with an error that names the field", () =>
    Effect.gen(function* () {
      const { code, signIn } = yield* host
      for (const body of [{}, { link: 1 }, { link: null }]) {
        const { body: refused } = yield* signIn(body)
        assert.deepStrictEqual(
          refused.error.field_errors.map(({ path }: { path: string }) => path),
          ["link"]
        )
      }
      const unknown = yield* signIn({ link: code, key: "x" })
      assert.strictEqual(unknown.status, 422)
      assert.strictEqual((yield* signIn({ link: "x".repeat(2_000) })).status, 413)
    })
  )

  it.live("works only on a host that creates console links", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ console: {} })
      const answer = yield* send("POST", "/console/session", { key: null, json: { link: "x" }, headers: fromPage })
      assert.strictEqual(answer.status, 404)
    })
  )

  it.effect("fails once the link is ten minutes old", () =>
    Effect.gen(function* () {
      const [early, late] = [yield* makeLink, yield* makeLink]
      assert.notStrictEqual(Redacted.value(early.code), Redacted.value(late.code))
      yield* TestClock.adjust("599 seconds")
      assert.isNotNull(yield* early.redeem(Redacted.value(early.code)))
      yield* TestClock.adjust("1 second")
      assert.isNull(yield* late.redeem(Redacted.value(late.code)))
    })
  )

  it.live("logs neither the code nor the key", () =>
    Effect.gen(function* () {
      const lines = yield* capturedLog
      const { code, signIn } = yield* host
      yield* signIn({ link: code })
      yield* signIn({ link: code })
      yield* Effect.logInfo("after")
      assert.isNotEmpty(lines)
      assert.notInclude(lines.join("\n"), code)
      assert.notInclude(lines.join("\n"), key)
    })
  )
})
