import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Operation } from "../../src/Operation.ts"
import * as operations from "../../src/operations.ts"
import type { Line } from "../../src/quoting/Line.ts"
import { recordKinds } from "../../src/storage/Change.ts"
import { directory, Storage } from "../../src/storage/Storage.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import {
  advance,
  agreed,
  cancel,
  events,
  getQuote,
  keyless,
  list,
  noKey,
  pass,
  read,
  refusal,
  reset,
  start,
  startOf,
  story,
  stranger
} from "../engine/support.ts"

/** Every operation with an input that is right in form; `{id}` and `{quote}` stand for what another request has. */
const calls: { readonly [N in (typeof operations.operations)[number]["name"]]: object } = {
  get_capabilities: { line: "pet" },
  start_quote_request: {},
  get_quote_request: { id: "{id}", wait_seconds: 0 },
  list_quote_requests: {},
  cancel_quote_request: { id: "{id}" },
  get_quote: { id: "{quote}" },
  list_events: {},
  get_sandbox: {},
  list_sandbox_scenarios: {},
  select_scenario: { scenario: "quotes_ready" },
  advance_time: { seconds: 1 },
  force_expiry: {},
  reset_sandbox: {}
}

const everyone = ["get_capabilities", "start_quote_request"]
const byHandle = ["get_quote_request", "get_quote", "cancel_quote_request"]
const serverOnly = ["list_quote_requests", "list_events"]
const sandboxOnly = [
  "get_sandbox",
  "list_sandbox_scenarios",
  "select_scenario",
  "advance_time",
  "force_expiry",
  "reset_sandbox"
]

/** What becomes of a call: `yes`, or the code of its refusal. */
const verdict = <R>(operation: Operation<string, unknown, unknown, R>, input: object, options: CallOptions) =>
  Effect.flatMap(World, ({ call }) =>
    call(operation, input, options).pipe(
      Effect.as("yes"),
      Effect.catch((error) => Effect.succeed(error._tag))
    )
  )

const inputOf = (name: string, of: { readonly id: string; readonly quote: string }, as: CallOptions): object => {
  if (name === "start_quote_request") return as.key === null ? agreed() : startOf()
  const input = Object.entries(calls).find(([operation]) => operation === name)?.[1] ?? {}
  return JSON.parse(JSON.stringify(input).replace("{id}", of.id).replace("{quote}", of.quote))
}

const rowOf = Effect.fnUntraced(function* (options: CallOptions, of: { readonly id: string; readonly quote: string }) {
  const row: Record<string, string> = {}
  const all: ReadonlyArray<Operation<string, unknown, unknown, operations.OperationServices>> = operations.operations
  for (const operation of all) {
    row[operation.name] = yield* verdict(operation, inputOf(operation.name, of, options), options)
  }
  return row
})

const expected = (byCall: (name: string) => string) =>
  Object.fromEntries(operations.operations.map(({ name }) => [name, byCall(name)]))

/** A request of the sandbox that a server key has started, with a quote. */
const another = Effect.gen(function* () {
  const { id } = yield* start()
  yield* advance(60)
  return { id, quote: (yield* read(id)).quotes[0]?.id ?? "" }
})

describe("who may do what", () => {
  story(
    "the table names every operation",
    Effect.sync(() =>
      assert.sameMembers(
        [...everyone, ...byHandle, ...serverOnly, ...sandboxOnly],
        operations.operations.map(({ name }) => name)
      )
    )
  )

  story(
    "a server key of the sandbox may do everything",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rowOf({}, yield* another),
        expected(() => "yes")
      )
    })
  )

  story(
    "a server key of the live environment may do everything but control a sandbox",
    Effect.gen(function* () {
      const live = { environment: "live" } as const
      const { id } = yield* start({}, live)
      const row = yield* rowOf(live, { id, quote: "qt_x" })
      assert.deepStrictEqual(
        row,
        expected((name) => (sandboxOnly.includes(name) ? "forbidden" : name === "get_quote" ? "not_found" : "yes"))
      )
    })
  )

  for (const as of ["widget", "platform"] as const) {
    for (const environment of ["sandbox", "live"] as const) {
      story(
        `a ${as} key (${environment}) may start and read what it has a handle for; another's request is not there`,
        Effect.gen(function* () {
          assert.deepStrictEqual(
            yield* rowOf({ as, environment }, yield* another),
            expected((name) => (everyone.includes(name) ? "yes" : byHandle.includes(name) ? "not_found" : "forbidden"))
          )
        })
      )
    }
  }

  story(
    "a caller without a key may read and start, and never cancel",
    keyless(
      Effect.gen(function* () {
        assert.deepStrictEqual(
          yield* rowOf(noKey, yield* another),
          expected((name) => {
            if (everyone.includes(name)) return "yes"
            return byHandle.includes(name) && name !== "cancel_quote_request" ? "not_found" : "forbidden"
          })
        )
      })
    )
  )

  story(
    "a caller without a key is refused where nobody has let such callers in",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rowOf(noKey, { id: "qreq_x", quote: "qt_x" }),
        expected(() => "authentication_failed")
      )
    })
  )
})

const handleOf = (started: { readonly read_handle?: string }): string => started.read_handle ?? assert.fail("no handle")

describe("a read handle", () => {
  for (const as of ["platform", "widget"] as const) {
    story(
      `${as}: opens its request, its quotes and its cancellation, and no other`,
      Effect.gen(function* () {
        const first = yield* start({ scenario: "waits_in_queue" }, { as })
        const second = yield* start({}, { as })
        assert.match(handleOf(first), /^rh_[0-9A-Za-z_-]{27}$/)
        assert.notStrictEqual(handleOf(first), handleOf(second))
        const read_handle = handleOf(second)
        assert.strictEqual((yield* refusal(cancel(first.id, { as, read_handle })))._tag, "not_found")
        assert.strictEqual((yield* cancel(first.id, { as, read_handle: handleOf(first) })).status, "cancelled")
        yield* advance(60)
        const { quotes } = yield* read(second.id, { as, read_handle })
        const quote = quotes[0]?.id ?? ""
        assert.strictEqual((yield* getQuote(quote, undefined, { as, read_handle })).id, quote)
        for (const wrong of [
          {},
          { read_handle: handleOf(first) },
          { read_handle: `${read_handle}x` },
          { read_handle: "" }
        ]) {
          assert.strictEqual((yield* refusal(read(second.id, { as, ...wrong })))._tag, "not_found")
          assert.strictEqual((yield* refusal(getQuote(quote, undefined, { as, ...wrong })))._tag, "not_found")
        }
      })
    )
  }

  story(
    "is the same at a repeat of the start, and lives for a day of workspace time",
    Effect.gen(function* () {
      const as = "platform"
      const input = { request_key: "once" }
      const first = yield* start(input, { as })
      assert.strictEqual(first.read_handle_expires_at, "2026-11-21T12:00:00.000Z")
      yield* advance(86_399)
      const repeat = yield* start(input, { as })
      assert.deepStrictEqual(
        [repeat.read_handle, repeat.read_handle_expires_at],
        [first.read_handle, first.read_handle_expires_at]
      )
      const read_handle = handleOf(first)
      yield* read(first.id, { as, read_handle })
      yield* pass(1_000)
      assert.strictEqual((yield* refusal(read(first.id, { as, read_handle })))._tag, "not_found")
    })
  )

  story(
    "also opens a request for a caller without a key",
    keyless(
      Effect.gen(function* () {
        const { call } = yield* World
        const started = yield* call(operations.startQuoteRequest, agreed(), noKey)
        const read_handle = handleOf(started)
        assert.strictEqual((yield* read(started.id, { ...noKey, read_handle })).quote_request.id, started.id)
        assert.strictEqual((yield* refusal(read(started.id, noKey)))._tag, "not_found")
      })
    )
  )

  story(
    "is in no answer but that of its start, and of no use in another workspace",
    Effect.gen(function* () {
      const as = "platform"
      const started = yield* start({}, { as })
      const read_handle = handleOf(started)
      const server = yield* start()
      assert.notProperty(server, "read_handle")
      const { sandbox } = yield* stranger
      yield* advance(60)
      const bodies = [
        yield* read(started.id),
        yield* read(started.id, { as, read_handle }),
        yield* list(),
        yield* events(),
        yield* getQuote((yield* read(started.id)).quotes[0]?.id ?? "")
      ]
      assert.notInclude(JSON.stringify(bodies), "rh_")
      assert.strictEqual((yield* refusal(read(started.id, { key: sandbox, read_handle })))._tag, "not_found")
    })
  )
})

describe("another workspace", () => {
  story(
    "is as if it were not there: not even with its ids and cursors",
    Effect.gen(function* () {
      const { sandbox, live } = yield* stranger
      const { id, quote } = yield* another
      yield* start()
      const listed = (yield* list({ limit: 1 })).next_cursor ?? ""
      const told = (yield* events()).next_cursor
      for (const key of [sandbox, live, (yield* World).keys.live.server]) {
        assert.strictEqual((yield* refusal(read(id, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(getQuote(quote, undefined, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(getQuote(quote, 1, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(cancel(id, { key })))._tag, "not_found")
        assert.strictEqual((yield* refusal(list({ limit: 1, cursor: listed }, { key })))._tag, "invalid_cursor")
        assert.strictEqual((yield* refusal(events({ cursor: told }, { key })))._tag, "invalid_cursor")
        assert.deepStrictEqual((yield* list({}, { key })).quote_requests, [])
        assert.deepStrictEqual((yield* events({}, { key })).events, [])
      }
      yield* reset({ key: sandbox })
      assert.strictEqual((yield* read(id)).quote_request.id, id)
    })
  )

  story(
    "has its own clock, scenario and keys of repeats",
    Effect.gen(function* () {
      const { sandbox } = yield* stranger
      const input = startOf()
      const { call } = yield* World
      const ours = yield* call(operations.startQuoteRequest, input)
      yield* advance(3_600, { idempotency_key: "once" })
      yield* call(operations.selectScenario, { scenario: "zero_quotes" }, { idempotency_key: "two" })
      const theirs = yield* call(operations.startQuoteRequest, input, { key: sandbox })
      assert.notStrictEqual(theirs.id, ours.id)
      assert.strictEqual(theirs.created_at, "2026-11-20T12:00:00.000Z")
      assert.isNull(theirs.scenario)
      const moved = yield* advance(60, { key: sandbox, idempotency_key: "once" })
      assert.strictEqual(moved.workspace.clock_offset_seconds, 60)
    })
  )
})

const secretFacts: { readonly [L in Line]: object } = {
  personal_auto: {
    applicant: {
      first_name: "Ada",
      last_name: "Lovelace",
      date_of_birth: "1985-12-10",
      email: "ada@lovelace.example",
      phone: "+12125550147"
    },
    garaging_address: { line1: "12 Analytical Way", line2: "Apt 7", city: "Dallas", state: "TX", zip: "75201-4321" },
    drivers: [
      {
        relationship: "self",
        first_name: "Ada",
        last_name: "Lovelace",
        date_of_birth: "1985-12-10",
        license_status: "valid"
      }
    ],
    vehicles: [{ vin: "1HGCM82633A004352" }]
  },
  renters: {
    applicant: { first_name: "Ada", last_name: "Lovelace", date_of_birth: "1985-12-10" },
    dwelling: { address: { line1: "12 Analytical Way", state: "NY", zip: "10001-4321" }, type: "apartment" }
  },
  pet: {
    applicant: { first_name: "Ada", last_name: "Lovelace", date_of_birth: "1985-12-10" },
    residence: { line1: "12 Analytical Way", state: "TX", zip: "78701-4321" },
    pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
  }
}

/** Everything that storage holds of the world's workspaces: the bodies and ids of records, events and jobs. */
const everything = Effect.gen(function* () {
  const storage = yield* Storage
  const { organization } = yield* World
  const texts: Array<string> = []
  for (const workspace_id of [directory, ...Object.values(organization.workspaces)]) {
    for (const kind of recordKinds) {
      const page = yield* storage.page({ workspace_id, kind, order: "oldest", after: null, limit: 1_000 })
      texts.push(...page.records.map((record) => JSON.stringify(record)))
    }
    const { events } = yield* storage.feed({ workspace_id, after: 0, limit: 1_000 })
    texts.push(...events.map(({ body }) => body))
  }
  const { jobs } = yield* storage.claim({ now: 1e15, lease_ms: 1, limit: 1_000 })
  texts.push(...jobs.map((job) => JSON.stringify(job)))
  return texts.join("\n")
})

describe("what is stored", () => {
  story(
    "holds no key, no handle, no receipt and nothing of a person that could be read",
    Effect.gen(function* () {
      const { keys } = yield* World
      const handles: Array<string> = []
      for (const line of ["personal_auto", "renters", "pet"] as const) {
        for (const as of ["server", "platform"] as const) {
          const started = yield* start(
            {
              line,
              application: secretFacts[line],
              consent_receipt_id: "receipt-secret-1",
              ...(line === "personal_auto" && { credit_disclosure_receipt_id: "receipt-secret-2" }),
              contact_consent: { receipt_id: "receipt-secret-3", channels: ["email"] }
            },
            { as }
          )
          if (started.read_handle !== undefined) handles.push(started.read_handle)
        }
      }
      yield* start({ scenario: "waits_in_queue", application: secretFacts.renters })
      yield* advance(4)
      const stored = yield* everything
      assert.include(stored, "quote_request")
      assert.include(stored, "ask_carrier")
      const secrets = [
        ...Object.values(keys.sandbox),
        ...Object.values(keys.live),
        ...handles,
        ...["receipt-secret", "Lovelace", "lovelace.example", "+12125550147", "1985-12-10"],
        ...["Analytical", "Apt 7", "1HGCM82633A004352", "75201-4321", "10001-4321", "78701-4321"]
      ]
      assert.lengthOf(handles, 3)
      for (const secret of secrets) assert.notInclude(stored, secret)
    })
  )
})
