import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Certificate from "../../../../test/support/certificate.ts"
import { until } from "../../../../test/support/eventually.ts"
import * as NodeWebhookSender from "../../src/webhooks/NodeWebhookSender.ts"
import * as Endpoint from "./support/endpoint.ts"
import { allowing, make, outcome, request, sendTo } from "./support/sender.ts"

describe("a webhook request", () => {
  it.live("is sent with the exact path, body and headers", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(Endpoint.answer(200))
      const sender = yield* make()
      const sent = yield* sender.send(request(`http://127.0.0.1:${endpoint.port}/a/b?x=%2F1`))
      assert.deepStrictEqual(outcome(sent), [200, null])
      assert.isTrue(Number.isInteger(sent.duration_ms) && sent.duration_ms >= 0)
      const [got] = endpoint.requests
      assert.strictEqual(got?.line, "POST /a/b?x=%2F1 HTTP/1.1")
      assert.strictEqual(got?.body, request("").body)
      assert.deepStrictEqual(Object.fromEntries(got?.headers ?? []), {
        accept: "*/*",
        "accept-encoding": "identity",
        connection: "keep-alive",
        "content-length": String(Buffer.byteLength(request("").body)),
        "content-type": "application/json",
        host: `127.0.0.1:${endpoint.port}`,
        "user-agent": NodeWebhookSender.defaultUserAgent,
        "webhook-id": "evt_1"
      })
    }).pipe(Effect.scoped)
  )

  it("carries the package's version in the User-Agent header", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    assert.strictEqual(NodeWebhookSender.defaultUserAgent, `Quotewire-Webhooks/${version}`)
  })

  it.live("reuses the open connection, and sends no cookies", () =>
    Effect.gen(function* () {
      const { endpoint, sender } = yield* sendTo(Endpoint.answer(200, { "set-cookie": "a=b" }))
      yield* sender.send(request(`http://127.0.0.1:${endpoint.port}/other`))
      assert.strictEqual(endpoint.connections().all, 1)
      assert.strictEqual(endpoint.requests[1]?.line, "POST /other HTTP/1.1")
      assert.isNull(endpoint.requests[1]?.headers.get("cookie") ?? null)
    }).pipe(Effect.scoped)
  )

  it.live("is resent over a new connection if the endpoint closes the reused connection", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start((socket, got) => {
        if (endpoint.requests.length % 2 === 0) return socket.destroy()
        Endpoint.answer(200)(socket, got)
      })
      const sender = yield* make()
      const to = request(`http://127.0.0.1:${endpoint.port}/`)
      assert.deepStrictEqual(outcome(yield* sender.send(to)), [200, null])
      assert.deepStrictEqual(outcome(yield* sender.send(to)), [200, null])
      assert.strictEqual(endpoint.requests.length, 3)
      assert.strictEqual(endpoint.connections().all, 2)
    }).pipe(Effect.scoped)
  )

  it.live("is sent directly, even if proxy variables are set", () =>
    Effect.gen(function* () {
      const proxy = yield* Endpoint.start(Endpoint.answer(200))
      const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"]
      for (const name of names)
        process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : `http://127.0.0.1:${proxy.port}`
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const name of names) delete process.env[name]
        })
      )
      const { sent } = yield* sendTo(Endpoint.answer(202))
      assert.deepStrictEqual(sent, [202, null])
      assert.strictEqual(proxy.connections().all, 0)
    }).pipe(Effect.scoped)
  )
})

describe("a receiver's response", () => {
  for (const status of [200, 201, 204, 299, 400, 401, 404, 410, 413, 500, 503]) {
    it.live(`is reported with status ${status}`, () =>
      Effect.gen(function* () {
        const { endpoint, sent } = yield* sendTo(Endpoint.answer(status))
        assert.deepStrictEqual(sent, [status, null])
        assert.strictEqual(endpoint.requests.length, 1)
      }).pipe(Effect.scoped)
    )
  }

  it.live("is reported without an immediate retry, even with a Retry-After header", () =>
    Effect.gen(function* () {
      const { endpoint, sent } = yield* sendTo(Endpoint.answer(429, { "retry-after": "0" }))
      assert.deepStrictEqual(sent, [429, null])
      assert.strictEqual(endpoint.requests.length, 1)
    }).pipe(Effect.scoped)
  )

  for (const status of [300, 301, 302, 303, 304, 305, 307, 308]) {
    it.live(`is not followed as a redirect if the status is ${status}`, () =>
      Effect.gen(function* () {
        const secret = yield* Endpoint.start(Endpoint.answer(200))
        for (const location of [`http://127.0.0.1:${secret.port}/`, `http://[::1]:${secret.port}/`, "/hook"]) {
          const { endpoint, sent } = yield* sendTo(Endpoint.answer(status, { location }))
          assert.deepStrictEqual(sent, [status, null])
          assert.strictEqual(endpoint.requests.length, 1)
        }
        assert.strictEqual(secret.connections().all, 0)
      }).pipe(Effect.scoped)
    )
  }

  it.live("is not followed as a redirect because of a Refresh header or tag", () =>
    Effect.gen(function* () {
      const secret = yield* Endpoint.start(Endpoint.answer(200))
      const url = `http://127.0.0.1:${secret.port}/`
      const page = `<meta http-equiv="refresh" content="0;url=${url}">`
      const script = Endpoint.answer(200, { refresh: `0; url=${url}`, "content-type": "text/html" }, page)
      assert.deepStrictEqual((yield* sendTo(script)).sent, [200, null])
      assert.strictEqual(secret.connections().all, 0)
    }).pipe(Effect.scoped)
  )

  it.live("is read up to 16 KiB, and the connection is reused", () =>
    Effect.gen(function* () {
      const { endpoint, sender, sent } = yield* sendTo(Endpoint.answer(200, {}, "x".repeat(16 * 1_024)))
      assert.deepStrictEqual(sent, [200, null])
      yield* sender.send(request(`http://127.0.0.1:${endpoint.port}/`))
      assert.strictEqual(endpoint.connections().all, 1)
    }).pipe(Effect.scoped)
  )

  const large: { readonly [name: string]: Endpoint.Script } = {
    "the body is 10 MB long": Endpoint.answer(200, {}, "x".repeat(10_000_000)),
    "the body is a gzip bomb": Endpoint.answer(
      200,
      { "content-encoding": "gzip" },
      gzipSync(Buffer.alloc(32 * 1_024 * 1_024)).toString("latin1")
    ),
    "the body never ends": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
      const more = () => {
        while (socket.writable && socket.write(`1000\r\n${"x".repeat(4_096)}\r\n`));
      }
      socket.on("drain", more)
      more()
    }
  }
  for (const [name, script] of Object.entries(large)) {
    it.live(`is reported with its status, and the connection is closed, if ${name}`, () =>
      Effect.gen(function* () {
        const { endpoint, sent } = yield* sendTo(script)
        assert.deepStrictEqual(sent, [200, null])
        yield* until(() => endpoint.connections().open === 0)
      }).pipe(Effect.scoped)
    )
  }
})

describe("the webhook sender", () => {
  it.live("never connects to an address that the policy refuses", () =>
    Effect.gen(function* () {
      const dialed: Array<string> = []
      const sender = yield* make({
        connect: (address, port) => {
          dialed.push(address)
          return connect(port, "127.0.0.1")
        }
      })
      for (const host of [
        "10.0.0.1",
        "[::1]",
        "127.0.0.2",
        "169.254.169.254",
        "[::ffff:7f00:1]",
        "a.localhost.example",
        "x.local"
      ]) {
        for (const scheme of ["https", "http"]) {
          const url = `${scheme}://${host}/`
          assert.deepStrictEqual(outcome(yield* sender.send(request(url))), [null, "refused_address"], url)
          assert.strictEqual(yield* sender.lookUp(url), "refused")
        }
      }
      assert.deepStrictEqual(dialed, [])
    }).pipe(Effect.scoped)
  )

  it.live("checks the connected socket's address before it writes any byte", () =>
    Effect.gen(function* () {
      // As if something on the network had redirected the connection.
      const secret = yield* Endpoint.start(Endpoint.answer(200), { host: "127.0.0.2" })
      const sender = yield* make({ connect: () => connect(secret.port, "127.0.0.2") })
      for (const scheme of ["http", "https"]) {
        const sent = yield* sender.send(request(`${scheme}://127.0.0.1:${secret.port}/`))
        assert.deepStrictEqual(outcome(sent), [null, "refused_address"])
      }
      yield* until(() => secret.connections().all === 2 && secret.connections().open === 0)
      assert.strictEqual(secret.received_bytes(), 0)
    }).pipe(Effect.scoped)
  )

  it.live("can reach localhost if the policy allows loopback addresses", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(Endpoint.answer(200))
      const sender = yield* make({ policy: allowing("127.0.0.0/8") })
      const url = `http://localhost:${endpoint.port}/`
      assert.deepStrictEqual(outcome(yield* sender.send(request(url))), [200, null])
      assert.strictEqual(yield* sender.lookUp(url), "public")
      assert.strictEqual(endpoint.requests[0]?.headers.get("host"), `localhost:${endpoint.port}`)
    }).pipe(Effect.scoped)
  )

  it("recognizes the addresses of this machine's interfaces as the host's own", () => {
    assert.include(NodeWebhookSender.ownAddresses().map(String), "127.0.0.1")
  })
})

describe("the webhook sender over TLS", () => {
  const certificate = Certificate.make("127.0.0.1")

  it.live("accepts only a trusted certificate that matches the address", () =>
    Effect.gen(function* () {
      const good = yield* Endpoint.start(Endpoint.answer(200), { certificate })
      const named = Certificate.make("hooks.example.com")
      const wrong = yield* Endpoint.start(Endpoint.answer(200), { certificate: named })
      const plain = yield* Endpoint.start(Endpoint.raw("HTTP/1.1 400 Bad\r\n\r\n"))
      const trusting = yield* make({ certificate_authorities: [certificate.cert, named.cert] })
      const strict = yield* make()
      const send = (sender: typeof strict, { port }: Endpoint.Endpoint) =>
        Effect.map(sender.send(request(`https://127.0.0.1:${port}/`)), outcome)
      assert.deepStrictEqual(yield* send(trusting, good), [200, null])
      assert.deepStrictEqual(yield* send(trusting, wrong), [null, "tls_failed"])
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
      yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED))
      assert.deepStrictEqual(yield* send(strict, good), [null, "tls_failed"])
      assert.strictEqual(wrong.requests.length, 0)
      assert.strictEqual(good.requests.length, 1)
      const sent = yield* trusting.send(request(`https://127.0.0.1:${plain.port}/`, 300))
      assert.include(["tls_failed", "timeout", "connection_failed"], sent.failure)
      yield* until(() => plain.connections().open === 0)
    }).pipe(Effect.scoped)
  )
})
