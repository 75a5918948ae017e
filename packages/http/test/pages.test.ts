import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { ApiError, Event, operations as everyOperation, Ids, type Quotewire } from "@quotewire/core"
import { CarrierCallbacks, Handoff, OpenApi, Page, Route } from "@quotewire/http"
import { Effect } from "effect"
import * as Reference from "../src/documents/Reference.ts"
import { start } from "./support/host.ts"
import { operations } from "./support/operations.ts"

const destinations: Record<string, Quotewire.Destination> = {
  live: { _tag: "redirect", url: "https://carrier.example/start?a=1&b=ü" },
  dead: { _tag: "page", status: 410, title: "Gone", message: "<script>alert('x')</script>" }
}

describe("HTML pages", () => {
  it.live("exist for each error code", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      const index = yield* send("GET", "/docs/v1/errors", { key: null })
      for (const code of ApiError.codes) {
        assert.include(index.text, `href="errors/${code}"`)
        const page = yield* send("GET", `/docs/v1/errors/${code}`, { key: null })
        assert.strictEqual(page.status, 200)
        assert.include(page.headers.get("content-type") ?? "", "text/html")
        assert.include(page.text, `<td>${ApiError.definitions[code].status}</td>`)
        assert.include(page.text, `&#34;code&#34;: &#34;${code}&#34;`)
      }
      const unknown = yield* send("GET", "/docs/v1/errors/%3Cscript%3E", { key: null })
      assert.strictEqual(unknown.status, 404)
      assert.notInclude(unknown.text, "<script")
    })
  )

  it.live("show which operations return an error code", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ operations: everyOperation })
      const pageOf = (code: string) =>
        Effect.map(send("GET", `/docs/v1/errors/${code}`, { key: null }), ({ text }) => text)
      assert.include(yield* pageOf("event_cursor_expired"), "<td><code>list_events</code> </td>")
      assert.include(yield* pageOf("rate_limited"), "<td>Every operation.</td>")
      assert.include(yield* pageOf("purchase_not_supported"), "<td>No operation returns it.</td>")
    })
  )

  it.live("run no scripts, load no other files, and escape all data", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ routes: [Handoff.route((token) => Effect.succeed(destinations[token] ?? dead))] })
      const gone = yield* send("GET", "/go/dead", { key: null })
      assert.strictEqual(gone.status, 410)
      assert.include(gone.text, "&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;")
      const [, style = ""] = /<style>([\s\S]*)<\/style>/.exec(gone.text) ?? []
      const hash = createHash("sha256").update(style).digest("base64")
      const policy = gone.headers.get("content-security-policy") ?? ""
      assert.isTrue(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy)
      const link = yield* send("GET", "/go/live", { key: null })
      assert.strictEqual(link.status, 302)
      assert.strictEqual(link.headers.get("location"), "https://carrier.example/start?a=1&b=%C3%BC")
      assert.strictEqual(link.headers.get("referrer-policy"), "no-referrer")
      assert.strictEqual(link.headers.get("cache-control"), "no-store")
    })
  )

  it("show inserted text literally, and never treat the text as markup", () => {
    assert.strictEqual(
      Page.html`<b>${"<&>\"'"}${3}${[Page.html`<i>`]}</b>`.html,
      "<b>&#60;&#38;&#62;&#34;&#39;3<i></b>"
    )
  })
})

const readBody = async (response: Response) => new Uint8Array(await response.arrayBuffer())

describe("the API reference page", () => {
  it.live("is rendered by a script from the host, and cannot call any other host", () =>
    Effect.gen(function* () {
      const { send, url } = yield* start()
      const page = yield* send("GET", "/docs", { key: null })
      assert.strictEqual(page.status, 200)
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; /)
      assert.include(policy, "connect-src 'self'")
      assert.notMatch(`${policy}${page.text}`, /https?:/)
      assert.include(page.text, 'data-url="openapi.json"')
      assert.include(page.text, "&#34;telemetry&#34;:false,&#34;withDefaultFonts&#34;:false")
      const [, script = ""] = /<script src="([^"]+standalone\.js)">/.exec(page.text) ?? []
      const read = (encoding: string) =>
        Effect.promise(() => fetch(new URL(script, `${url}/docs`), { headers: { "accept-encoding": encoding } }))
      const plain = yield* read("identity")
      assert.strictEqual(plain.headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.strictEqual(plain.headers.get("content-type"), "text/javascript; charset=utf-8")
      const packed = yield* read("gzip, br;q=0")
      assert.strictEqual(packed.headers.get("content-encoding"), "gzip")
      assert.deepStrictEqual(
        yield* Effect.promise(() => readBody(packed)),
        yield* Effect.promise(() => readBody(plain))
      )
      assert.strictEqual((yield* send("GET", `/${script}x`, { key: null })).status, 404)
    })
  )

  it.live("is not sent again to a browser that has a current copy", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      for (const path of ["/docs", "/openapi.json"]) {
        const first = yield* send("GET", path, { key: null })
        assert.strictEqual(first.headers.get("cache-control"), "no-cache")
        const headers = { "if-none-match": first.headers.get("etag") ?? "none" }
        const second = yield* send("GET", path, { key: null, headers })
        assert.strictEqual(second.status, 304, path)
        assert.strictEqual(second.text, "")
        const other = yield* send("GET", path, { key: null, headers: { "if-none-match": '"other"' } })
        assert.strictEqual(other.status, 200)
      }
    })
  )

  it.effect("is a complete static page if Scalar is not available", () =>
    Effect.gen(function* () {
      const document = OpenApi.document(operations, "https://api.quotewire.dev")
      const [route, ...others] = Reference.routes(() => document, null)
      assert.lengthOf(others, 0)
      const incoming = {
        method: "GET",
        docs_url: "",
        public_path: "",
        request_id: Ids.RequestId.make(`req_${"0".repeat(26)}`),
        params: {},
        query: "",
        header: () => null,
        headers: {},
        address: "",
        read: () => Effect.never,
        readRaw: () => Effect.never
      }
      const { body, headers } = yield* route?.handle(incoming) ?? assert.fail("no route")
      const text = typeof body === "string" ? body : new TextDecoder().decode(body ?? new Uint8Array())
      assert.match(headers["content-security-policy"] ?? "", /^default-src 'none'; style-src 'sha256-/)
      assert.notInclude(text, "<script")
      for (const { name, route, summary } of operations) {
        assert.include(text, `<section id="${name}">`)
        assert.include(text, `<code>${route.method} ${route.path}</code>`)
        assert.include(text, summary)
      }
      for (const type of Event.types) assert.include(text, `<code>POST ${type}</code>`)
      for (const shown of ["Idempotency-Key", "webhook-signature", "Free facts"]) assert.include(text, shown)
    })
  )
})

const dead: Quotewire.Destination = {
  _tag: "page",
  status: 404,
  title: "Unknown link",
  message: "There is no such link."
}

describe("routes outside the API", () => {
  it.live("report whether the host is alive and ready", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ ready: Effect.succeed(false) })
      assert.strictEqual((yield* send("GET", "/health/live", { key: null })).status, 200)
      const ready = yield* send("GET", "/health/ready", { key: null })
      assert.strictEqual(ready.status, 503)
      assert.strictEqual(JSON.parse(ready.text).error.code, "service_unavailable")
      const healthy = yield* (yield* start()).send("GET", "/health/ready", { key: null })
      assert.deepStrictEqual([healthy.status, JSON.parse(healthy.text)], [200, { status: "ready" }])
      const { send: ask } = yield* start({ environments: Effect.succeed(["sandbox"]) })
      const details = yield* ask("GET", "/health/ready", { key: null })
      assert.deepStrictEqual(JSON.parse(details.text), { status: "ready", environments: ["sandbox"] })
      const some = [
        { name: "one", ready: true },
        { name: "two", ready: false }
      ]
      const { send: askCells } = yield* start({ cells: Effect.succeed(some) })
      const ofCells = yield* askCells("GET", "/health/ready", { key: null })
      assert.deepStrictEqual([ofCells.status, JSON.parse(ofCells.text)], [200, { status: "ready", cells: some }])
      const why = yield* start({ ready: Effect.succeed("Something is missing.") })
      assert.strictEqual(
        JSON.parse((yield* why.send("GET", "/health/ready", { key: null })).text).error.message,
        "Something is missing."
      )
    })
  )

  it.live("pass carriers' callbacks to the service byte for byte", () =>
    Effect.gen(function* () {
      const received: Array<string> = []
      const { send } = yield* start({
        routes: [
          CarrierCallbacks.route((carrierId, { headers, body }) =>
            Effect.sync(() => {
              received.push(carrierId, String(headers["x-signature"]), Buffer.from(body).toString("hex"))
              return carrierId === "acme"
            })
          )
        ]
      })
      const options = { key: null, headers: { "x-signature": "s" }, body: new Uint8Array([0, 255]) }
      assert.strictEqual((yield* send("POST", "/carriers/acme/callbacks", options)).status, 204)
      assert.strictEqual((yield* send("POST", "/carriers/other/callbacks", options)).status, 404)
      assert.deepStrictEqual(received, ["acme", "s", "00ff", "other", "s", "00ff"])
      const large = yield* send("POST", "/carriers/acme/callbacks", { key: null, body: new Uint8Array(65_537) })
      assert.strictEqual(large.status, 413)
    })
  )

  it.live("return 500 without details if a handler fails or sets an invalid header", () =>
    Effect.gen(function* () {
      const { send } = yield* start({
        routes: [
          Route.make("GET", "/throws", () => {
            throw new Error("inside")
          }),
          Route.make("GET", "/dies", () => Effect.die("inside")),
          Route.make("GET", "/header", () =>
            Effect.succeed({ status: 200, headers: { location: "a\r\nb: c" }, body: null })
          )
        ]
      })
      for (const path of ["/throws", "/dies", "/header"]) {
        const answer = yield* send("GET", path, { key: null })
        assert.strictEqual(answer.status, 500, path)
        assert.notInclude(answer.text, "inside")
      }
    })
  )
})

describe("web pages that call the API", () => {
  const origin = "https://shop.example"
  const preflight = (method: string, from = origin) => ({
    key: null,
    headers: { origin: from, "access-control-request-method": method }
  })

  it.live("can call the operations that a widget key allows if their origin is allowed", () =>
    Effect.gen(function* () {
      const { send } = yield* start({ cors_origins: [origin] })
      const open = yield* send("OPTIONS", "/v1/things/th_1", preflight("GET"))
      assert.strictEqual(open.status, 204)
      assert.strictEqual(open.headers.get("access-control-allow-origin"), origin)
      assert.strictEqual((yield* send("OPTIONS", "/v1/things", preflight("POST"))).status, 404)
      assert.strictEqual(
        (yield* send("OPTIONS", "/v1/things/th_1", preflight("GET", "https://evil.example"))).status,
        404
      )
      const read = yield* send("GET", "/v1/things/th_1", { headers: { origin } })
      assert.strictEqual(read.headers.get("access-control-allow-origin"), origin)
      const evil = yield* send("GET", "/v1/things/th_1", { headers: { origin: "https://evil.example" } })
      assert.isNull(evil.headers.get("access-control-allow-origin"))
      assert.strictEqual(evil.headers.get("vary"), "Origin")
    })
  )

  it.live("can call no operation if the host allows no origin", () =>
    Effect.gen(function* () {
      const { send } = yield* start()
      assert.strictEqual((yield* send("OPTIONS", "/v1/things/th_1", preflight("GET"))).status, 404)
      assert.isNull((yield* send("GET", "/v1/things/th_1", { headers: { origin } })).headers.get("vary"))
    })
  )
})
