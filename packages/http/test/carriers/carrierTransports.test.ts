import { createGzip, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { oauth } from "@quotewire/core"
import { Deferred, Effect } from "effect"
import * as Certificate from "../../../../test/support/certificate.ts"
import { until } from "../../../../test/support/eventually.ts"
import * as NameServer from "../webhooks/support/nameServer.ts"
import { a } from "../webhooks/support/nameServer.ts"
import { allowing } from "../webhooks/support/sender.ts"
import { client, json, outcome, serve } from "./support.ts"

const transports = [
  ["the Node transport", {}],
  ["the guarded Node transport", { public_addresses_only: true, policy: allowing("127.0.0.0/8") }],
  ["fetch", "fetch"]
] as const

for (const [name, settings] of transports) {
  describe(`HTTP calls to carriers over ${name}`, () => {
    it.live("read plain and compressed responses, and reuse connections", () =>
      Effect.gen(function* () {
        const offers = { offers: ["ü".repeat(1_000)] }
        const server = yield* serve((request, response) => {
          if (request.url === "/plain") return json(response, offers)
          response.writeHead(200, { "content-encoding": "gzip" })
          response.end(gzipSync(JSON.stringify(offers)))
        })
        const http = yield* client(server.origin, settings)
        assert.deepStrictEqual(yield* Effect.flatMap(http.get("/plain"), (answer) => answer.json()), offers)
        assert.deepStrictEqual(yield* Effect.flatMap(http.get("/gzip"), (answer) => answer.json()), offers)
        for (let n = 0; n < 8; n++) yield* http.get("/plain")
        // A connection can be busy for a moment after its response has ended.
        assert.isBelow(server.connections().all, 3)
      })
    )

    it.live("time out if the carrier is silent or sends byte by byte", () =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          if (request.url === "/silent") return
          if (request.url === "/gzip") {
            response.writeHead(200, { "content-encoding": "gzip" })
            return void response.write(gzipSync("{}").subarray(0, 12))
          }
          response.writeHead(200)
          const drip = setInterval(() => response.write("."), 5)
          response.on("close", () => clearInterval(drip))
        })
        const http = yield* client(server.origin, settings, {}, { timeout_ms: 150 })
        assert.deepStrictEqual(yield* outcome(http.get("/silent")), ["timeout", "TIMED_OUT"])
        assert.deepStrictEqual(yield* outcome(http.get("/drip")), ["timeout", "TIMED_OUT"])
        assert.deepStrictEqual(yield* outcome(http.get("/gzip")), ["timeout", "TIMED_OUT"])
        yield* until(() => server.connections().open === 0)
      })
    )

    it.live("stop reading a huge response or a gzip bomb at the limit", () =>
      Effect.gen(function* () {
        let written = 0
        const server = yield* serve((request, response) => {
          const isBomb = request.url === "/bomb"
          response.writeHead(200, isBomb ? { "content-encoding": "gzip" } : {})
          const out = isBomb ? createGzip() : response
          if (isBomb) out.on("error", () => {}).on("data", (chunk) => response.write(chunk))
          const zeros = Buffer.alloc(256 * 1_024)
          const more = () => {
            if (response.destroyed || written >= 1_024 * 1_024 * 1_024) return void out.end()
            written += zeros.length
            if (out.write(zeros)) setImmediate(more)
            else out.once("drain", more)
          }
          more()
        })
        const http = yield* client(server.origin, settings)
        for (const path of ["/large", "/bomb"]) {
          written = 0
          assert.deepStrictEqual(yield* outcome(http.get(path)), ["unreadable_answer", "TOO_LARGE"])
          yield* until(() => server.connections().open === 0)
        }
        assert.isBelow(written, 1_024 * 1_024 * 1_024)
      })
    )

    it.live("reject a response that decompresses beyond the limit, even if its declared length is small", () =>
      Effect.gen(function* () {
        const bomb = gzipSync(Buffer.alloc(4 * 1_024 * 1_024))
        const server = yield* serve((_request, response) => {
          response.writeHead(200, { "content-encoding": "gzip", "content-length": bomb.length })
          response.end(bomb)
        })
        const http = yield* client(server.origin, settings)
        assert.deepStrictEqual(yield* outcome(http.get("/bomb")), ["unreadable_answer", "TOO_LARGE"])
      })
    )

    it.live("fail with unreadable_answer if a response declared as gzip is not gzip", () =>
      Effect.gen(function* () {
        const server = yield* serve((_request, response) => {
          response.writeHead(200, { "content-encoding": "gzip" })
          response.end("this is no gzip")
        })
        const http = yield* client(server.origin, settings)
        assert.deepStrictEqual(yield* outcome(http.get("/q")), ["unreadable_answer", "Z_DATA_ERROR"])
      })
    )

    it.live("do not follow a redirect to a private address", () =>
      Effect.gen(function* () {
        const secret = yield* serve((_request, response) => json(response, {}))
        const server = yield* serve((request, response) => {
          const status = Number(request.url?.slice(1))
          response.writeHead(status, { location: `${secret.origin}/secret` })
          response.end()
        })
        const http = yield* client(server.origin, settings)
        for (const status of [301, 302, 307, 308]) {
          assert.deepStrictEqual(yield* outcome(http.get(`/${status}`)), ["carrier_error", `HTTP_${status}`])
        }
        assert.deepStrictEqual(secret.requests, [])
      })
    )

    it.live("fail with carrier_error if the connection drops, after one retry if the call is idempotent", () =>
      Effect.gen(function* () {
        const server = yield* serve((request, response) => {
          if (request.url === "/before") return void request.socket.resetAndDestroy()
          response.writeHead(200, { "content-length": 100 })
          response.write("half", () => request.socket.destroy())
        })
        const once = yield* client(server.origin, settings)
        assert.strictEqual((yield* outcome(once.get("/before")))[0], "carrier_error")
        assert.strictEqual((yield* outcome(once.get("/in")))[0], "carrier_error")
        assert.lengthOf(server.requests, 2)
        const twice = yield* client(server.origin, settings, {}, { idempotent: true })
        assert.strictEqual((yield* outcome(twice.get("/before")))[0], "carrier_error")
        assert.lengthOf(server.requests, 4)
      })
    )

    it.live("are retried if the carrier returns 429 with a Retry-After of one second", () =>
      Effect.gen(function* () {
        const server = yield* serve((_request, response) =>
          server.requests.length === 1 ? json(response, {}, 429, { "retry-after": "1" }) : json(response, {})
        )
        const http = yield* client(server.origin, settings, {}, { idempotent: true })
        assert.deepStrictEqual(yield* outcome(http.get("/q")), [200])
        assert.lengthOf(server.requests, 2)
      })
    )

    it.live("share one access token, and request only one new token if the carrier rejects the old token", () =>
      Effect.gen(function* () {
        let issued = 0
        const server = yield* serve((request, response) => {
          if (request.url === "/token") return json(response, { access_token: `t${++issued}`, expires_in: 3_600 })
          json(response, {}, request.headers.authorization === `Bearer t${issued}` ? 200 : 401)
        })
        const http = yield* client(server.origin, settings, { auth: oauth({ token_path: "/token" }) })
        const calls = Effect.all(
          Array.from({ length: 20 }, () => outcome(http.get("/q"))),
          { concurrency: "unbounded" }
        )
        const all = Array.from({ length: 20 }, () => [200])
        assert.deepStrictEqual(yield* calls, all)
        assert.strictEqual(issued, 1)
        issued = 2
        assert.deepStrictEqual(yield* calls, all)
        assert.strictEqual(issued, 3)
      })
    )
  })
}

describe("the Node transport", () => {
  const port = (origin: string) => new URL(origin).port

  it.live("rejects a self-signed, expired or mismatched certificate, and explains why", () =>
    Effect.gen(function* () {
      const refused = (certificate: Certificate.Certificate, settings: "own" | "trusted" | "fetch") =>
        Effect.gen(function* () {
          const server = yield* serve((_request, response) => json(response, {}), certificate)
          const trusted = { certificate_authorities: [certificate.cert] }
          const chosen = settings === "fetch" ? "fetch" : settings === "trusted" ? trusted : {}
          const http = yield* client(server.origin, chosen, {}, { idempotent: true })
          const said = yield* outcome(http.get("/q"))
          assert.deepStrictEqual(server.requests, [])
          return said
        })
      const own = Certificate.make("localhost")
      assert.deepStrictEqual(yield* refused(own, "own"), ["carrier_error", "DEPTH_ZERO_SELF_SIGNED_CERT"])
      assert.deepStrictEqual(yield* refused(own, "fetch"), ["carrier_error", "DEPTH_ZERO_SELF_SIGNED_CERT"])
      const expired = Certificate.expired("localhost")
      assert.deepStrictEqual(yield* refused(expired, "trusted"), ["carrier_error", "CERT_HAS_EXPIRED"])
      const other = Certificate.make("api.acme.example")
      assert.deepStrictEqual(yield* refused(other, "trusted"), ["carrier_error", "ERR_TLS_CERT_ALTNAME_INVALID"])
    })
  )

  for (const guard of [false, true]) {
    it.live(
      `presents a client certificate only to its configured host${guard ? ", even with public_addresses_only" : ""}`,
      () =>
        Effect.gen(function* () {
          const certificate = Certificate.make("localhost", "127.0.0.1")
          const shown = Certificate.make("broker-7")
          const server = yield* serve((_request, response) => json(response, {}), {
            ...certificate,
            requestCert: true,
            ca: [shown.cert]
          })
          const settings = {
            certificate_authorities: [certificate.cert],
            client_certificates: { localhost: { certificate: shown.cert, key: shown.key } },
            ...(guard && { public_addresses_only: true, policy: allowing("127.0.0.0/8") })
          }
          const http = yield* client(server.origin, settings)
          assert.deepStrictEqual(yield* outcome(http.get("/q")), [200])
          const other = yield* client(`https://127.0.0.1:${port(server.origin)}`, settings)
          assert.strictEqual((yield* outcome(other.get("/q")))[0], "carrier_error")
        })
    )
  }

  it.live("connects only to public addresses if public_addresses_only is set", () =>
    Effect.gen(function* () {
      const certificate = Certificate.make("carrier.example.com")
      const server = yield* serve((_request, response) => json(response, {}), certificate)
      const names = yield* NameServer.start((name) => (name === "gone.example.com" ? "nxdomain" : a("127.0.0.1")))
      const settings = {
        public_addresses_only: true,
        resolver: names.resolver,
        certificate_authorities: [certificate.cert]
      }
      const url = (host: string) => `https://${host}:${port(server.origin)}`
      for (const host of ["carrier.example.com", "127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "carrier.internal"]) {
        const http = yield* client(url(host), settings, {}, { idempotent: true })
        assert.deepStrictEqual(yield* outcome(http.get("/q")), ["carrier_error", "REFUSED_ADDRESS"], host)
      }
      const gone = yield* client(url("gone.example.com"), settings)
      assert.deepStrictEqual(yield* outcome(gone.get("/q")), ["carrier_error", "DNS_FAILED"])
      assert.strictEqual(server.connections().all, 0)
      const allowed = yield* client(url("carrier.example.com"), { ...settings, policy: allowing("127.0.0.0/8") })
      assert.deepStrictEqual(yield* outcome(allowed.get("/q")), [200])
    })
  )

  it.live("opens no more connections to an origin than allowed", () =>
    Effect.gen(function* () {
      const two = yield* Deferred.make<void>()
      const server = yield* serve((_request, response) => {
        if (server.requests.length === 2) Deferred.doneUnsafe(two, Effect.void)
        Effect.runFork(
          Effect.andThen(
            Deferred.await(two),
            Effect.sync(() => json(response, {}))
          )
        )
      })
      const http = yield* client(server.origin, { connections_per_origin: 2 })
      const answers = yield* Effect.all(
        Array.from({ length: 10 }, () => outcome(http.get("/q"))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        answers.filter(([status]) => status === 200),
        10
      )
      assert.strictEqual(server.connections().all, 2)
    })
  )
})
