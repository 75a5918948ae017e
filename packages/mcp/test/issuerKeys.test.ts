import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import * as Issuer from "./support/issuer.ts"
import { sendWith, withIssuer } from "./support/issuer.ts"

const other = "https://other.example/keys"

/** A document that contains everything that is read from the issuer. */
const moved = { issuer: Issuer.issuerUrl, jwks_uri: `${Issuer.issuerUrl}/keys`, keys: [] }

/** The warnings of a test: each log message with its details. */
const withLog = <A, E, R>(body: (logged: Array<Logged>) => Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const logged: Array<Logged> = []
    const logger = Logger.make(({ fiber, logLevel, message }) => {
      if (logLevel === "Warn") logged.push({ text: String(message), ...fiber.getRef(References.CurrentLogAnnotations) })
    })
    return Effect.provide(body(logged), Logger.layer([logger]))
  })

type Logged = { readonly text: string } & Readonly<Record<string, unknown>>

/** The warnings, after checking that each says what to check, which is then removed. */
const causesOf = (logged: ReadonlyArray<Logged>) =>
  logged.map(({ check, issuer, ...cause }) => {
    assert.match(String(check), /^Check that /)
    assert.strictEqual(issuer, Issuer.issuerUrl)
    return cause
  })

describe("the OAuth issuer's keys", () => {
  it.effect("are found through the issuer's metadata, and are loaded once for many tokens", () =>
    withIssuer(
      Effect.fnUntraced(function* ({ requested, token }) {
        for (const sub of ["a", "b", "c"]) assert.strictEqual((yield* sendWith(yield* token({ sub }))).status, 200)
        const metadata = `${Issuer.issuerUrl}/.well-known/openid-configuration`
        assert.deepStrictEqual(requested, [metadata, `${Issuer.issuerUrl}/keys`])
      })
    )
  )

  it.effect("are reloaded for an unknown key ID at most once in ten seconds", () =>
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

  it.effect("no longer verify a cached token five minutes after the issuer removes them", () =>
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

  it.effect("are used for an hour while the issuer is down, and after an hour calls get 503", () =>
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

  it.effect("finish loading even if the caller that triggered the loading disconnects", () =>
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

  it.effect("cause a 503 if they do not load within five seconds", () =>
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

  it.effect.each<readonly [string, (url: string) => Promise<Response>, string]>([
    ["that is too large", async () => new Response(`{"keys":["${"x".repeat(300_000)}"]}`), "more than 262144 bytes"],
    [
      "behind a redirect",
      async (url) =>
        url.startsWith(other)
          ? Response.json(moved)
          : Response.json(moved, { status: 302, headers: { location: other } }),
      "has the status 302"
    ],
    [
      "for another issuer",
      async () => Response.json({ issuer: "https://other.example", jwks_uri: "https://other.example/keys" }),
      "names a different issuer"
    ],
    [
      "served over plain HTTP",
      async () => Response.json({ issuer: Issuer.issuerUrl, jwks_uri: "http://other.example/keys" }),
      "not an https address"
    ],
    [
      "on a host whose name only looks local",
      async () => Response.json({ issuer: Issuer.issuerUrl, jwks_uri: "http://127.other.example/keys" }),
      "not an https address"
    ],
    ["that is not JSON", async () => new Response("<html>"), "not the expected JSON"],
    [
      "with too many keys",
      async () => Response.json({ ...moved, keys: Array.from({ length: 101 }, () => ({})) }),
      "not the expected JSON"
    ]
  ])("are not read from a document %s", ([, answer, reason]) =>
    withLog((logged) =>
      withIssuer(
        Effect.fnUntraced(function* ({ answerWith, requested, token }) {
          yield* answerWith(answer)
          assert.strictEqual((yield* sendWith(yield* token())).status, 503)
          assert.isTrue(requested.every((url) => url.startsWith("https://login.example/")))
          assert.include(String(logged[0]?.reason), reason)
        })
      )
    )
  )
})

const statusOf = (made: Effect.Effect<string>) =>
  Effect.flatMap(made, (token) => Effect.map(sendWith(token), ({ status }) => status))

const notPublished = "An access token is signed with a key that the OAuth issuer does not publish"
const severalFit = "Several keys of the OAuth issuer match an access token, so the token is refused"

describe("an access token", () => {
  it.effect("causes at most one warning a minute if its key is not published", () =>
    withLog((logged) =>
      withIssuer(
        Effect.fnUntraced(function* ({ token }) {
          const unknown = token({}, { kid: "k99" })
          assert.deepStrictEqual([yield* statusOf(unknown), yield* statusOf(unknown)], [401, 401])
          assert.deepStrictEqual(causesOf(logged), [{ text: notPublished, kid: "k99", alg: "ES256" }])
          yield* TestClock.adjust("59 seconds")
          yield* statusOf(unknown)
          assert.lengthOf(logged, 1)
          yield* TestClock.adjust("1 second")
          yield* statusOf(token({}, { kid: "k100" }))
          assert.deepStrictEqual(causesOf(logged.slice(1)), [{ text: notPublished, kid: "k100", alg: "ES256" }])
        })
      )
    )
  )

  it.effect.each<readonly [string, string]>([
    ["is not printable", "a\nlevel=error text=forged"],
    ["is not ASCII", "ключ"],
    ["is longer than 100 characters", "k".repeat(101)],
    ["is empty", ""]
  ])("causes a warning that omits the kid if the kid %s", ([, kid]) =>
    withLog((logged) =>
      withIssuer(
        Effect.fnUntraced(function* ({ token }) {
          assert.strictEqual(yield* statusOf(token({}, { kid })), 401)
          assert.deepStrictEqual(causesOf(logged), [
            { text: notPublished, kid: "not 1 to 100 printable characters", alg: "ES256" }
          ])
        })
      )
    )
  )

  it.effect("causes a warning if several keys match, whether or not the token has a kid", () =>
    Effect.forEach([{ kid: "k1" }, { kid: null }], (options) =>
      withLog((logged) =>
        withIssuer(
          Effect.fnUntraced(function* ({ answerWith, keys, token }) {
            yield* answerWith(async () => Response.json({ ...moved, keys: [...keys, ...keys] }))
            const made = token({}, options)
            assert.deepStrictEqual([yield* statusOf(made), yield* statusOf(made)], [401, 401])
            const { kid } = options
            assert.deepStrictEqual(causesOf(logged), [{ text: severalFit, kid: kid ?? "none", alg: "ES256" }])
          })
        )
      )
    )
  )

  it.effect("is accepted without a kid if the issuer has one key", () =>
    withLog((logged) =>
      withIssuer(
        Effect.fnUntraced(function* ({ token }) {
          assert.strictEqual(yield* statusOf(token({}, { kid: null })), 200)
          assert.deepStrictEqual(logged, [])
        })
      )
    )
  )

  it.effect("causes one warning a minute for each kind of problem", () =>
    withLog((logged) =>
      withIssuer(
        Effect.fnUntraced(function* ({ answerWith, token }) {
          yield* answerWith(async () => new Response("", { status: 404 }))
          for (let i = 0; i < 6; i++) {
            assert.strictEqual(yield* statusOf(token()), 503)
            yield* TestClock.adjust("10 seconds")
          }
          const gone = {
            text: "The keys of the OAuth issuer could not be loaded",
            reason: "the response has the status 404."
          }
          assert.deepStrictEqual(causesOf(logged), [gone])
          yield* answerWith(null)
          assert.strictEqual(yield* statusOf(token({}, { kid: "k99" })), 401)
          assert.deepStrictEqual(causesOf(logged), [gone, { text: notPublished, kid: "k99", alg: "ES256" }])
        })
      )
    )
  )

  it.effect("causes a warning if the runtime cannot use the token's key", () =>
    withLog((logged) =>
      withIssuer(
        Effect.fnUntraced(function* ({ answerWith, keys, token }) {
          const broken = { ...keys[0], x: "AAAA", y: "AAAA" }
          yield* answerWith(async () => Response.json({ ...moved, keys: [broken] }))
          assert.deepStrictEqual([yield* statusOf(token()), yield* statusOf(token())], [401, 401])
          const causes = causesOf(logged)
          assert.deepStrictEqual(
            causes.map(({ reason: _, ...cause }) => cause),
            [{ text: "A key of the OAuth issuer cannot be used", kid: "k1", alg: "ES256" }]
          )
          assert.match(String(causes[0]?.reason), /^\w*Error: /)
        })
      )
    )
  )
})
