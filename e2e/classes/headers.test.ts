import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { client, outcome as outcomeOf } from "../../packages/http/test/carriers/support.ts"
import * as Endpoint from "../../packages/http/test/webhooks/support/endpoint.ts"
import { allowing, make, outcome, request } from "../../packages/http/test/webhooks/support/sender.ts"

/*
 * Responses with non-ASCII bytes in their headers, which HTTP allows in values but not in names.
 */

const body = '{"offers":["Prämie"]}'

/** A response whose header section is written in this encoding. */
const answering =
  (encoding: "latin1" | "utf8", reason: string, ...fields: ReadonlyArray<string>): Endpoint.Script =>
  (socket) => {
    const head = [`HTTP/1.1 200 ${reason}`, ...fields, `content-length: ${Buffer.byteLength(body)}`, "", ""]
    socket.write(Buffer.concat([Buffer.from(head.join("\r\n"), encoding), Buffer.from(body)]))
  }

const type = "content-type: application/json"

const accepted: { readonly [name: string]: Endpoint.Script } = {
  "a value in Latin-1": answering("latin1", "OK", type, "x-region: Zürich"),
  "a value in UTF-8": answering("utf8", "OK", type, "x-region: 東京 🗼"),
  "a reason phrase in UTF-8": answering("utf8", "Alles größer", type),
  "a cookie and a link": answering("utf8", "OK", type, "set-cookie: größe=ü; Path=/", "link: </größe>; rel=next"),
  "a date in another language": answering("utf8", "OK", type, "last-modified: Dienstag, 31. März 2026"),
  "an unknown character set": answering("utf8", "OK", "content-type: application/json; charset=größe")
}

const name = answering("utf8", "OK", type, "x-größe: 1")

const transports = [
  ["the Node transport", {}],
  ["the guarded Node transport", { public_addresses_only: true, policy: allowing("127.0.0.0/8") }],
  ["fetch", "fetch"]
] as const

describe("non-ASCII response headers", () => {
  it.live("do not make a webhook delivery fail or close the connection", () =>
    Effect.gen(function* () {
      const sender = yield* make()
      for (const script of Object.values(accepted)) {
        const endpoint = yield* Endpoint.start(script)
        const post = sender.send(request(`http://127.0.0.1:${endpoint.port}/hook`))
        assert.deepStrictEqual(outcome(yield* post), [200, null])
        assert.deepStrictEqual(outcome(yield* post), [200, null])
        assert.strictEqual(endpoint.connections().all, 1)
      }
      const broken = yield* Endpoint.start(name)
      const sent = yield* sender.send(request(`http://127.0.0.1:${broken.port}/hook`))
      assert.strictEqual(sent.failure, "bad_response")
    })
  )

  for (const [transport, settings] of transports) {
    it.live(`do not make a carrier's response unreadable over ${transport}`, () =>
      Effect.gen(function* () {
        for (const [what, script] of Object.entries(accepted)) {
          const endpoint = yield* Endpoint.start(script)
          const http = yield* client(`http://localhost:${endpoint.port}`, settings)
          const offers = yield* Effect.flatMap(http.get("/"), (answer) => answer.json())
          assert.deepStrictEqual(offers, { offers: ["Prämie"] }, what)
        }
        const broken = yield* Endpoint.start(name)
        const http = yield* client(`http://localhost:${broken.port}`, settings)
        const [reason] = yield* outcomeOf(http.get("/"))
        assert.include(["carrier_error", "unreadable_answer"], reason)
      })
    )
  }
})
