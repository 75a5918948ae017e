import { assert, describe, it } from "@effect/vitest"
import { operations } from "@quotewire/core"
import { Effect } from "effect"
import { type Keys, start, type TestHost } from "./support/host.ts"

type Kind = keyof Keys
const kinds: ReadonlyArray<Kind> = ["server", "widget", "platform"]

/** Who may call what: everyone with a key, those with the read handle as well, or only servers. */
const authority: Readonly<Record<string, "everybody" | "by handle" | "servers">> = {
  get_capabilities: "everybody",
  start_quote_request: "everybody",
  get_quote_request: "by handle",
  get_quote: "by handle",
  cancel_quote_request: "by handle",
  list_quote_requests: "servers",
  preview_revisions: "servers",
  get_quote_request_timeline: "servers",
  create_partner_link: "servers",
  list_events: "servers",
  create_event_subscription: "servers",
  list_event_subscriptions: "servers",
  update_event_subscription: "servers",
  disable_event_subscription: "servers",
  rotate_event_subscription_secret: "servers",
  send_test_event: "servers",
  list_event_deliveries: "servers",
  get_event_delivery: "servers",
  replay_event_delivery: "servers",
  get_event_subscription_health: "servers",
  preview_event_recovery: "servers",
  start_event_recovery: "servers",
  list_event_recoveries: "servers",
  change_event_recovery: "servers",
  list_api_requests: "servers",
  get_api_request: "servers",
  send_feedback: "everybody",
  get_feedback: "everybody",
  get_sandbox: "servers",
  list_sandbox_scenarios: "servers",
  select_scenario: "servers",
  advance_time: "servers",
  force_expiry: "servers",
  replay_events: "servers",
  reset_sandbox: "servers"
}

type Send = TestHost["send"]

/**
 * Calls an operation about a missing resource, with an empty body, so that an admitted caller is refused only for
 * that.
 */
const knock = (send: Send, { method, path }: (typeof operations)[number]["route"], key: string | null) =>
  Effect.map(
    send(method, path.replace(/\{\w+\}/g, "none"), {
      key,
      headers: { "idempotency-key": "authority" },
      ...(method === "GET" || method === "DELETE" ? {} : { json: {} })
    }),
    ({ status }) => status
  )

/** The outcome of every operation, by its name. */
const each = <A>(call: (operation: (typeof operations)[number]) => Effect.Effect<A>) =>
  Effect.map(
    Effect.forEach(operations, (operation) => Effect.map(call(operation), (outcome) => [operation.name, outcome])),
    (all): Readonly<Record<string, A>> => Object.fromEntries(all)
  )

/** What the table promises for every operation. */
const promised = <A>(of: (who: string) => A): Readonly<Record<string, A>> =>
  Object.fromEntries(operations.map(({ name }) => [name, of(authority[name] ?? assert.fail(`${name} is missing`))]))

const application = {
  residence: { state: "TX", zip: "78701" },
  pets: [{ species: "cat", breed: "mixed", age_years: 3 }]
}

/** Starts a request that stays in its queue, with a key of this kind. */
const startWith = (send: Send, key: string, request_key: string) =>
  Effect.map(
    send("POST", "/v1/quote-requests", {
      key,
      json: { line: "pet", request_key, consent_receipt_id: "receipt-0001", scenario: "waits_in_queue", application }
    }),
    ({ status, text }): { readonly id: string; readonly read_handle?: string } => {
      assert.strictEqual(status, 202, text)
      return JSON.parse(text)
    }
  )

describe("authority over HTTP", () => {
  for (const kind of kinds) {
    it.live(`a ${kind} key can call only the operations that are allowed for that kind of key`, () =>
      Effect.gen(function* () {
        const { keys, send } = yield* start({ operations })
        assert.deepStrictEqual(
          yield* each(({ route }) =>
            Effect.map(knock(send, route, keys[kind]), (status) => (status === 403 ? "forbidden" : "let in"))
          ),
          promised((who) => (kind === "server" || who !== "servers" ? "let in" : "forbidden"))
        )
      })
    )
  }

  it.live("a partner link can read only the resources that it shares", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* start({ operations })
      const { id: shared_id } = yield* startWith(send, keys.server, "shared")
      const made = yield* send("POST", "/v1/partner-links", { key: keys.server, json: { shared_id } })
      assert.strictEqual(made.status, 201, made.text)
      const { token } = JSON.parse(made.text)
      const reads = [
        ...["get_quote_request", "list_events"],
        ...["get_event_subscription_health", "list_event_deliveries", "get_event_delivery"]
      ]
      assert.deepStrictEqual(
        yield* each(({ route }) => knock(send, route, token)),
        Object.fromEntries(operations.map(({ name }) => [name, reads.includes(name) ? 404 : 403]))
      )
      for (const own of [
        `/v1/quote-requests/${shared_id}?wait_seconds=0`,
        `/v1/events?quote_request_id=${shared_id}`
      ]) {
        assert.strictEqual((yield* send("GET", own, { key: token })).status, 200)
      }
    })
  )

  it.live("no operation can be called without a key or with an invalid key", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* start({ operations })
      for (const key of [null, "", `${keys.server.slice(0, -1)}-`]) {
        assert.deepStrictEqual(
          yield* each(({ route }) => knock(send, route, key)),
          promised(() => 401)
        )
      }
    })
  )
})

describe("the Read-Handle header", () => {
  const ways = (id: string) =>
    [
      ["GET", `/v1/quote-requests/${id}?wait_seconds=0`],
      ["POST", `/v1/quote-requests/${id}/cancel`]
    ] as const

  it.live("lets a widget or platform key read and cancel only the request that returned the handle", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* start({ operations })
      for (const kind of ["widget", "platform"] as const) {
        const mine = yield* startWith(send, keys[kind], `${kind}-mine`)
        const other = yield* startWith(send, keys[kind], `${kind}-other`)
        const handle = mine.read_handle ?? assert.fail("no handle")
        assert.match(handle, /^rh_/)
        const status = (method: string, target: string, readHandle: string | null) =>
          Effect.map(
            send(method, target, {
              key: keys[kind],
              headers: readHandle === null ? {} : { "read-handle": readHandle }
            }),
            (answer) => answer.status
          )
        for (const [method, target] of ways(mine.id)) {
          const wrong = [null, "", "rh_wrong", `${handle}x`, other.read_handle ?? null, `${handle}, ${handle}`]
          for (const readHandle of wrong) assert.strictEqual(yield* status(method, target, readHandle), 404)
        }
        for (const [method, target] of ways(mine.id)) {
          assert.strictEqual(yield* status(method, target, handle), 200)
        }
        for (const [method, target] of ways(other.id)) {
          assert.strictEqual(yield* status(method, target, handle), 404)
        }
        const elsewhere = yield* send("GET", `/v1/quote-requests/${mine.id}?read_handle=${handle}`, { key: keys[kind] })
        assert.strictEqual(elsewhere.status, 422)
      }
    })
  )

  it.live("is not needed with a server key, and has the same value after a repeated start call", () =>
    Effect.gen(function* () {
      const { keys, send } = yield* start({ operations })
      const started = yield* startWith(send, keys.server, "server")
      assert.notProperty(started, "read_handle")
      for (const [method, target] of ways(started.id)) {
        assert.strictEqual((yield* send(method, target)).status, 200)
      }
      const first = yield* startWith(send, keys.widget, "again")
      const again = yield* startWith(send, keys.widget, "again")
      assert.deepStrictEqual([again.id, again.read_handle], [first.id, first.read_handle])
      assert.strictEqual((yield* send("GET", `/v1/quote-requests/${first.id}?wait_seconds=0`)).status, 200)
    })
  )
})

describe("web pages from allowed origins", () => {
  it.live("can call only the operations that a widget key allows", () =>
    Effect.gen(function* () {
      const origin = "https://shop.example"
      const { keys, send } = yield* start({ operations, cors_origins: [origin] })
      const preflights = yield* each(({ route }) =>
        Effect.map(
          send("OPTIONS", route.path.replace(/\{\w+\}/g, "none"), {
            key: null,
            headers: { origin, "access-control-request-method": route.method }
          }),
          ({ headers }) => headers.get("access-control-allow-origin")
        )
      )
      assert.deepStrictEqual(
        preflights,
        promised((who) => (who === "servers" ? null : origin))
      )
      // A page must be able to read refusals, too.
      const options = { key: keys.widget, headers: { origin } }
      const refused = yield* send("GET", "/v1/quotes/none", options)
      assert.deepStrictEqual([refused.status, refused.headers.get("access-control-allow-origin")], [404, origin])
      const exposed = refused.headers.get("access-control-expose-headers")?.split(", ") ?? []
      assert.includeMembers(exposed, ["Request-Id", "Service-Version", "Retry-After"])
    })
  )
})
