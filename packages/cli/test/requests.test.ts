import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Carrier, CarrierTransport, embed, Seal } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer, Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import { freshDatabase } from "../../../test/support/TestDatabase.ts"
import { run } from "./support/program.ts"

const sealKey = randomBytes(32)

const database = Effect.map(
  Effect.acquireRelease(Effect.promise(freshDatabase), ({ drop }) => Effect.promise(drop)),
  ({ url }) => ({ url, env: { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKey.toString("base64") } })
)

/** A carrier's server, which is closed at the end of the test. */
const server = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly base_url: string; readonly close: () => void }>((resolve) => {
        const host = createServer(({ url = "" }, response) => {
          if (url.startsWith("/terms")) {
            response.writeHead(200, { "content-type": "application/xml" })
            response.end("<terms><zip>10001</zip></terms>")
            return
          }
          response.writeHead(503, { "content-type": "application/json", "set-cookie": "hidden=1" })
          response.end(JSON.stringify({ problem: "rating engine down\u001b[2J" }))
        })
        host.listen(0, "127.0.0.1", () => {
          const address = host.address()
          const port = typeof address === "string" ? "" : address?.port
          resolve({ base_url: `http://127.0.0.1:${port}`, close: () => host.close() })
        })
      })
  ),
  ({ close }) => Effect.sync(close)
)

/** A carrier that exchanges XML and JSON with its server, and treats every answer as an outage. */
const acme = (baseUrl: string): Carrier.CarrierAdapter => ({
  carrier: { id: "acme", name: "Acme", registry_ids: [] },
  environments: ["live"],
  lines: {
    renters: {
      states: ["NY"],
      needs: [],
      uses_credit: false,
      mode: "sync",
      idempotent: false,
      attempt_timeout_ms: 10_000,
      typical_ms: 100,
      hedge_after_ms: null,
      rate_per_minute: 100,
      max_concurrent: 10
    }
  },
  handoff_hosts: [],
  redact: ["applicant"],
  ask: () =>
    Effect.gen(function* () {
      const client = yield* CarrierTransport
      const terms = HttpClientRequest.post(`${baseUrl}/terms`).pipe(
        HttpClientRequest.bodyText("<ask><applicant>Ada</applicant></ask>", "application/xml")
      )
      yield* Effect.flatMap(client.execute(terms), ({ text }) => text)
      const body = { applicant: { first_name: "Ada" }, zip: "10001" }
      const request = HttpClientRequest.post(`${baseUrl}/quotes?token=hidden`).pipe(
        HttpClientRequest.bearerToken("hidden"),
        HttpClientRequest.bodyJsonUnsafe(body)
      )
      const response = yield* client.execute(request)
      yield* response.json
      return { kind: "unavailable", reason: "maintenance" } as const
    }).pipe(Effect.orDie)
})

/** A finished live request. It was made by a program with its own carrier on the database, which is closed by now. */
const request = Effect.fnUntraced(function* (url: string) {
  const { base_url } = yield* server
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed({
        storage: PgStorage.layer({ url: Redacted.make(url) }),
        carriers: Layer.succeed(Carrier.CarrierAdapters, [acme(base_url)]),
        seal_keys: Layer.succeed(Seal.SealKeys, { keys: [Redacted.make(new Uint8Array(sealKey))] })
      })
    ),
    (running) => Effect.promise(() => running.close())
  )
  return yield* Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
    const client = quotewire.client(key)
    const { id } = await client.start_quote_request({
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: "key-0001",
      application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
    })
    let status = "in_progress"
    while (status === "in_progress") {
      status = (await client.get_quote_request({ id, wait_seconds: 5 })).quote_request.status
    }
    return { id, timeline: await quotewire.timeline(id, { bodies: true }) }
  })
})

describe("quotewire requests show", () => {
  it.live("shows a quote request's history, with bodies only if --bodies is set", () =>
    Effect.gen(function* () {
      const { env, url } = yield* database
      const { id, timeline } = yield* Effect.scoped(request(url))
      const plain = yield* run(["requests", "show", id], env)
      assert.strictEqual(plain.code, 0, plain.stderr)
      assert.match(plain.stdout, new RegExp(`^${id}  renters, live: failed \\(no_carrier_answered\\)\n`))
      assert.match(
        plain.stdout,
        /\nacme\n(?: .*\n)* +\d+\.\d{3} {2}exchange {3}ask, attempt 1: unavailable \(maintenance\) in \d+ ms\n/
      )
      assert.match(plain.stdout, /\n +POST 127\.0\.0\.1:\d+\/quotes\?token {2}503 in \d+ ms\n/)
      assert.match(plain.stdout, / {2}event {6}quote_request\.failed evt_/)
      assert.match(plain.stdout, /\n +> application\/json, \d+ bytes\n/)
      assert.match(
        plain.stdout,
        /POST 127\.0\.0\.1:\d+\/terms {2}200 in \d+ ms\n +> application\/xml, 37 bytes\n +< application\/xml, 31 bytes\n/
      )
      assert.notMatch(plain.stdout, /rating engine|10001|Ada|hidden/)

      const full = yield* run(["requests", "show", id, "--bodies"], env)
      assert.include(full.stdout, '> {"applicant":"[redacted]","zip":"10001"}')
      assert.include(full.stdout, "> <ask><applicant>[redacted]</applicant></ask>")
      assert.include(full.stdout, "rating engine down")
      assert.notMatch(full.stdout, /Ada|hidden|\p{Cc}\[/u)

      const { stdout } = yield* run(["requests", "show", id, "--bodies", "--json"], env)
      const { entries } = JSON.parse(stdout)
      // The request log writes calls with a delay, but before the program closes.
      const others = timeline.entries.filter(({ what }) => what !== "call")
      assert.deepStrictEqual(entries.slice(1), others)
      assert.deepInclude(entries[0], { what: "call" })
    })
  )

  it.live("reports an unknown quote request or an invalid ID in one sentence", () =>
    Effect.gen(function* () {
      const { env } = yield* database
      const unknown = yield* run(["requests", "show", `qreq_${"0".repeat(26)}`], env)
      assert.deepStrictEqual(
        [unknown.code, unknown.stdout, unknown.stderr],
        [1, "", "quotewire: No such quote request.\n"]
      )
      const wrong = yield* run(["requests", "show", "no-id"], env)
      assert.strictEqual(wrong.code, 2)
      assert.include(`${wrong.stdout}${wrong.stderr}`, "must be the id of a quote request, such as qreq_01…")
    })
  )
})
