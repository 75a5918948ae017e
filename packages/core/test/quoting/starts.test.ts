import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { lineNames } from "../../src/lines/standard.ts"
import { lineNamed } from "../lines/applications.ts"
import {
  advance,
  events,
  feed,
  list,
  pass,
  pathsOf,
  read,
  refusal,
  runDue,
  select,
  smallest,
  start,
  startOf,
  startWith,
  testInWorld
} from "../support/world.ts"
import { prompt } from "./carriers.ts"

describe("a request_key", () => {
  testInWorld(
    "returns the existing request in its current state if the input is equal",
    Effect.gen(function* () {
      const input = startOf({ line: "personal_auto" })
      const first = yield* startWith(input)
      assert.deepStrictEqual(yield* startWith(input), first)
      yield* advance(60)
      const reordered = Object.fromEntries(Object.entries(input).toReversed())
      const now = yield* startWith(reordered)
      assert.deepStrictEqual(now, (yield* read(first.id)).quote_request)
      assert.strictEqual(now.status, "completed")
      assert.lengthOf((yield* list()).quote_requests, 1)
    })
  )

  testInWorld(
    "returns its request even if the facts would be rejected in a new request",
    Effect.gen(function* () {
      const input = startOf({ application: { ...smallest.renters, effective_date: "2026-11-20" } })
      const { id } = yield* startWith(input)
      yield* advance(2 * 86_400)
      assert.strictEqual((yield* startWith(input)).id, id)
      const error = yield* refusal(startWith({ ...input, request_key: "another" }))
      assert.deepStrictEqual(pathsOf(error), ["application.effective_date"])
    })
  )

  testInWorld(
    "creates one request in fifty concurrent calls",
    Effect.gen(function* () {
      const input = startOf()
      const all = yield* Effect.forEach(Array.from({ length: 50 }), () => startWith(input), {
        concurrency: "unbounded"
      })
      assert.lengthOf(new Set(all.map(({ id }) => id)), 1)
      assert.lengthOf(yield* feed(), 1)
      yield* advance(60)
      assert.lengthOf((yield* list()).quote_requests, 1)
    })
  )

  testInWorld(
    "cannot be reused with a different input, even if only one field differs",
    Effect.gen(function* () {
      const input = startOf({ line: "pet" })
      yield* startWith(input)
      const others = [
        { ...input, consent_receipt_id: "receipt-0002" },
        { ...input, scenario: "quotes_ready" },
        { ...input, line: "renters", application: smallest.renters },
        { ...input, application: { ...smallest.pet, residence: { state: "TX", zip: "78702" } } },
        // If the input is different and also wrong, the conflict of the key comes first.
        { ...input, application: {} },
        { ...input, application: { ...smallest.pet, effective_date: "2020-01-01" } }
      ]
      for (const other of others) {
        const error = yield* refusal(startWith(other))
        assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "use_new_request_key"])
      }
      assert.lengthOf(yield* feed(), 1)
    })
  )

  testInWorld(
    "is scoped to the workspace for server keys, and to the key itself for platform and widget keys",
    Effect.gen(function* () {
      const input = startOf()
      const started = new Set<string>()
      for (const as of ["server", "platform", "widget"] as const) {
        started.add((yield* startWith(input, { as })).id)
      }
      started.add((yield* startWith(input, { environment: "live" })).id)
      assert.lengthOf(started, 4)
      assert.strictEqual((yield* startWith(input, { as: "platform" })).id, [...started][1])
    })
  )

  for (const [what, request_key] of [
    ["empty", ""],
    ["201 characters long", "k".repeat(201)],
    ["text with a space", "a b"],
    ["text with a non-ASCII letter", "schlüssel"]
  ]) {
    testInWorld(
      `is rejected if it is ${what}`,
      Effect.gen(function* () {
        assert.deepStrictEqual(pathsOf(yield* refusal(start({ request_key }))), ["request_key"])
      })
    )
  }

  testInWorld(
    "may have 200 visible characters",
    Effect.gen(function* () {
      const { id } = yield* start({ request_key: "~".repeat(200) })
      assert.match(id, /^qreq_/)
    })
  )
})

describe("a start call with wrong fields", () => {
  const wrong = { ...smallest.personal_auto, garaging_address: { state: "TX", zip: "10001" } }

  testInWorld(
    "reports wrong consents, scenarios and facts together",
    Effect.gen(function* () {
      const error = yield* refusal(
        start({
          line: "personal_auto",
          credit_disclosure_receipt_id: "receipt-0001",
          scenario: "no_such",
          application: wrong
        })
      )
      assert.sameMembers(
        [...pathsOf(error)],
        ["consent_receipt_id", "credit_disclosure_receipt_id", "scenario", "application.garaging_address.zip"]
      )
    })
  )

  testInWorld(
    "reports malformed fields together with well-formed but invalid fields",
    Effect.gen(function* () {
      const error = yield* refusal(
        startWith({
          line: "personal_auto",
          consent_receipt_id: "short",
          contact_consent: { receipt_id: 7, channels: ["email"] },
          contact_channels: { sms: true },
          quote_disclosure_accepted: true,
          application: wrong,
          surprise: 1
        })
      )
      assert.sameMembers(
        [...pathsOf(error)],
        [
          "consent_receipt_id",
          "contact_consent.receipt_id",
          "request_key",
          "surprise",
          "quote_disclosure_accepted",
          "application.garaging_address.zip"
        ]
      )
      assert.match(error.message, /^6 fields are not valid: "[\w.]+", "[\w.]+", "[\w.]+" and 3 more\./)
    })
  )

  testInWorld(
    "repeats no rejected value in the error",
    Effect.gen(function* () {
      const error = yield* refusal(
        startWith({ ...startOf(), line: "SECRET", consent_receipt_id: "SECRET!", scenario: 5, application: "SECRET" })
      )
      assert.notInclude(JSON.stringify([error.message, error.field_errors]), "SECRET")
      assert.isAbove(error.field_errors?.length ?? 0, 2)
    })
  )

  testInWorld("asks for missing facts only if no field is wrong", () => {
    const scripted = prompt("prompt")
    return {
      carriers: [scripted.adapter],
      body: Effect.gen(function* () {
        const none = { line: "personal_auto", application: {} } as const
        const missing = yield* refusal(start(none))
        assert.deepStrictEqual([missing._tag, missing.retry_action], ["needs_information", "supply_facts"])
        assert.deepStrictEqual(
          pathsOf(missing),
          [
            "garaging_address.state",
            "garaging_address.zip",
            "drivers.0.relationship",
            "drivers.0.date_of_birth",
            "drivers.0.license_status",
            "vehicles.0.vin",
            "vehicles.0.model_year",
            "vehicles.0.make",
            "vehicles.0.model"
          ].map((path) => `application.${path}`)
        )
        const both = yield* refusal(
          start({ line: "personal_auto", application: { garaging_address: wrong.garaging_address } })
        )
        assert.deepStrictEqual([both._tag, pathsOf(both)], ["invalid_input", ["application.garaging_address.zip"]])
        const consent = yield* refusal(start({ ...none, credit_disclosure_receipt_id: "receipt-0001" }))
        assert.strictEqual(consent._tag, "invalid_input")
        yield* runDue
        yield* pass(10)
        assert.lengthOf(scripted.asks, 0)
        assert.lengthOf(yield* feed(), 0)
        assert.lengthOf((yield* list()).quote_requests, 0)
      })
    }
  })
})

describe("a start call's scenario", () => {
  testInWorld(
    "must be available for the line; otherwise the error lists the line's scenarios",
    Effect.gen(function* () {
      const error = yield* refusal(start({ scenario: "credit_disclosure" }))
      assert.deepStrictEqual(pathsOf(error), ["scenario"])
      const allowed = error.field_errors?.[0]?.allowed_values ?? []
      assert.include(allowed, "quotes_ready")
      assert.notInclude(allowed, "credit_disclosure")
      yield* start({ line: "personal_auto", scenario: "credit_disclosure" })
    })
  )

  testInWorld(
    "is allowed only in the sandbox",
    Effect.gen(function* () {
      const error = yield* refusal(start({ scenario: "quotes_ready" }, { environment: "live" }))
      assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["scenario"]])
    })
  )

  testInWorld(
    "takes precedence over the active scenario",
    Effect.gen(function* () {
      assert.isNull((yield* start()).scenario)
      yield* select("zero_quotes")
      assert.strictEqual((yield* start()).scenario, "zero_quotes")
      assert.strictEqual((yield* start({ scenario: "quotes_ready" })).scenario, "quotes_ready")
      yield* select("credit_disclosure")
      assert.isNull((yield* start()).scenario)
      assert.strictEqual((yield* start({ line: "personal_auto" })).scenario, "credit_disclosure")
      assert.isNull((yield* start({}, { environment: "live" })).scenario)
    })
  )

  for (const line of lineNames) {
    testInWorld(
      `makes the call ask for every fact of a ${line} price if it is needs_information`,
      Effect.gen(function* () {
        const error = yield* refusal(start({ line, scenario: "needs_information" }))
        assert.strictEqual(error._tag, "needs_information")
        assert.deepStrictEqual(pathsOf(error), lineNamed(line).price_paths)
        assert.isNotEmpty(pathsOf(error))
        assert.lengthOf(yield* feed(), 0)
      })
    )
  }

  testInWorld(
    "makes the call reject the consent if it is consent_refused",
    Effect.gen(function* () {
      const error = yield* refusal(start({ scenario: "consent_refused" }))
      assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["consent_receipt_id"]])
      assert.strictEqual(error.retry_action, "none")
      assert.match(error.field_errors?.[0]?.message ?? "", /Ask the person/)
    })
  )

  for (const code of ["rate_limited", "service_unavailable"] as const) {
    testInWorld(
      `makes the first call fail if it is ${code}, but not a retry five seconds later`,
      Effect.gen(function* () {
        const input = startOf({ scenario: code })
        const first = yield* refusal(startWith(input))
        assert.deepStrictEqual([first._tag, first.retry_after_seconds], [code, 5])
        if (code === "rate_limited") assert.include(first.message, "rate limit for start_quote_request")
        yield* advance(3)
        assert.strictEqual((yield* refusal(startWith(input))).retry_after_seconds, 2)
        assert.lengthOf(yield* feed(), 0)
        yield* pass(1_999)
        assert.strictEqual((yield* refusal(startWith(input))).retry_after_seconds, 1)
        yield* pass(1)
        const { id } = yield* startWith(input)
        assert.strictEqual((yield* startWith(input)).id, id)
        assert.strictEqual((yield* refusal(startWith({ ...input, request_key: "another" })))._tag, code)
        yield* advance(60)
        assert.strictEqual((yield* read(id)).quote_request.status_details.reason, "quotes_ready")
      })
    )
  }

  testInWorld(
    "makes every call fail if it is internal_error",
    Effect.gen(function* () {
      const input = startOf({ scenario: "internal_error" })
      for (let i = 0; i < 3; i++) {
        const error = yield* refusal(startWith(input))
        assert.deepStrictEqual([error._tag, error.retry_action], ["internal_error", "contact_support"])
        yield* advance(10)
      }
      assert.lengthOf((yield* events()).events, 0)
    })
  )
})

describe("the pet line", () => {
  testInWorld(
    "creates events only for quote requests, not for quotes",
    Effect.gen(function* () {
      const { id } = yield* start({ line: "pet", scenario: "price_update" })
      yield* advance(86_400 * 20)
      assert.lengthOf((yield* read(id)).quotes, 3)
      const types = (yield* feed()).map(({ resource }) => resource.type)
      assert.deepStrictEqual([...new Set(types)], ["quote_request"])
      assert.isTrue((yield* read(id)).quotes.every(({ status }) => status === "inactive"))
    })
  )
})
