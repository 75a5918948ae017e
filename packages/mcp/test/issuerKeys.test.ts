import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Issuer from "./support/issuer.ts"
import { sendWith, withIssuer } from "./support/issuer.ts"

const other = "https://other.example/keys"

/** What serves for every document of the issuer. */
const moved = { issuer: Issuer.issuer_url, jwks_uri: `${Issuer.issuer_url}/keys`, keys: [] }

describe("the keys of the issuer", () => {
  it.effect("are found through its metadata, and loaded once for many tokens", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ requested, token }) {
        for (const sub of ["a", "b", "c"]) assert.strictEqual((yield* sendWith(yield* token({ sub }))).status, 200)
        const metadata = `${Issuer.issuer_url}/.well-known/openid-configuration`
        assert.deepStrictEqual(requested, [metadata, `${Issuer.issuer_url}/keys`])
      })
    )
  )

  it.effect("are loaded again for a new key, but not for every invented one", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ requested, rotate, token }) {
        assert.strictEqual((yield* sendWith(yield* token())).status, 200)
        yield* rotate
        const next = yield* token()
        assert.strictEqual((yield* sendWith(next)).status, 401)
        const before = requested.length
        for (const kid of ["x1", "x2", "x3"]) yield* sendWith(yield* token({}, { kid }))
        assert.strictEqual(requested.length, before)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* sendWith(next)).status, 200)
      })
    )
  )

  it.effect("no longer verify a cached token five minutes after they were removed", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ rotate, token }) {
        const old = yield* token()
        assert.strictEqual((yield* sendWith(old)).status, 200)
        yield* rotate
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual((yield* sendWith(old)).status, 401)
      })
    )
  )

  it.effect("are used for an hour while the issuer is down, and then the answer is 503", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ answerWith, token }) {
        const long = yield* token({ exp: 4_000_000_000 })
        assert.strictEqual((yield* sendWith(long)).status, 200)
        yield* answerWith(() => Promise.reject(new Error("down")))
        yield* TestClock.adjust("59 minutes")
        assert.strictEqual((yield* sendWith(long)).status, 200)
        assert.strictEqual((yield* sendWith(yield* token({ sub: "new" }))).status, 200)
        yield* TestClock.adjust("2 minutes")
        const { body, status } = yield* sendWith(long)
        assert.deepStrictEqual([status, body.error], [503, "service_unavailable"])
        yield* answerWith(null)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* sendWith(long)).status, 200)
      })
    )
  )

  it.effect("are loaded once, although the caller that needed them first has left", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ answerWith, keys, requested, token }) {
        let open = () => {}
        const gate = new Promise<void>((resolve) => {
          open = resolve
        })
        yield* answerWith(async () => {
          await gate
          return Response.json({ ...moved, keys })
        })
        const leaving = yield* Effect.forkChild(sendWith(yield* token()), { startImmediately: true })
        while (requested.length === 0) yield* Effect.yieldNow
        yield* Effect.forkChild(Fiber.interrupt(leaving), { startImmediately: true })
        const staying = yield* Effect.forkChild(sendWith(yield* token()), { startImmediately: true })
        open()
        assert.strictEqual((yield* Fiber.join(staying)).status, 200)
        assert.lengthOf(requested, 2)
      })
    )
  )

  it.effect("are not waited for longer than five seconds", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ answerWith, requested, token }) {
        yield* answerWith(() => new Promise(() => {}))
        const waiting = yield* Effect.forkChild(sendWith(yield* token()), { startImmediately: true })
        while (requested.length === 0) yield* Effect.yieldNow
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* Fiber.join(waiting)).status, 503)
      })
    )
  )

  it.effect("are not read from a document that is too large, redirected or of another issuer", () =>
    Effect.forEach(
      [
        async () => new Response(`{"keys":["${"x".repeat(300_000)}"]}`),
        async (url: string) =>
          url.startsWith(other)
            ? Response.json(moved)
            : Response.json(moved, { status: 302, headers: { location: other } }),
        async () => Response.json({ issuer: "https://other.example", jwks_uri: "https://other.example/keys" }),
        async () => Response.json({ issuer: Issuer.issuer_url, jwks_uri: "http://other.example/keys" }),
        async () => Response.json({ issuer: Issuer.issuer_url, jwks_uri: "http://127.other.example/keys" }),
        async () => new Response("<html>")
      ],
      (answer) =>
        withIssuer(
          Effect.fnUntraced(function* ({ answerWith, requested, token }) {
            yield* answerWith(answer)
            assert.strictEqual((yield* sendWith(yield* token())).status, 503)
            assert.isTrue(requested.every((url) => url.startsWith("https://login.example/")))
          })
        )
    )
  )
})

describe("a key that the runtime refuses", () => {
  it.effect("does not verify anything, and is logged", () => {
    const logged: Array<unknown> = []
    const logger = Logger.make(({ message }) => void logged.push(message))
    return withIssuer(
      Effect.fnUntraced(function* ({ answerWith, keys, token }) {
        const broken = { ...keys[0], x: "AAAA", y: "AAAA" }
        yield* answerWith(async () =>
          Response.json({ issuer: Issuer.issuer_url, jwks_uri: `${Issuer.issuer_url}/keys`, keys: [broken] })
        )
        assert.strictEqual((yield* sendWith(yield* token())).status, 401)
        assert.include(String(logged), "A key of the OAuth issuer cannot be used")
      })
    ).pipe(Effect.provide(Logger.layer([logger])))
  })
})
