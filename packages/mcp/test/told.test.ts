import { assert, describe, it } from "@effect/vitest"
import type { Resource } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "./support/agents.ts"
import { advanced, call, callKeyless, followed, startOf } from "./support/journey.ts"

const at = Effect.suspend(() => TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z"))))

/** Starts a scenario and lets the sandbox play it to its end. */
const played = Effect.fnUntraced(function* (scenario: string) {
  yield* at
  const { structuredContent } = yield* call("start_quote_request", startOf(scenario))
  yield* advanced(90)
  return structuredContent.id
})

const keyless = {
  request_key: "0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c11",
  quote_disclosure_version: "2026-09-26",
  quote_disclosure_accepted: true
}

describe("a model that sees only structuredContent", () => {
  it.effect("gets the summary in every response", () =>
    Effect.gen(function* () {
      const id = yield* played("quotes_ready")
      const [first] = (yield* call("get_quote_request", { id })).structuredContent.quotes
      for (const [tool, args] of [
        ["get_capabilities", { line: "pet" }],
        ["start_quote_request", startOf("quotes_ready")],
        ["get_quote_request", { id }],
        ["list_quote_requests", {}],
        ["get_quote", { id: first.id }],
        ["list_api_requests", {}]
      ] as const) {
        const { content, isError, structuredContent } = yield* call(tool, args)
        assert.isFalse(isError, tool)
        assert.strictEqual(structuredContent.summary, content[0].text, tool)
        assert.strictEqual(Object.keys(structuredContent)[0], "summary", tool)
        assert.deepStrictEqual(JSON.parse(content[1].text), structuredContent, tool)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads each price in dollars, and the assumptions in plain words", () =>
    Effect.gen(function* () {
      const id = yield* played("quotes_ready")
      const { quotes, summary } = (yield* call("get_quote_request", { id })).structuredContent
      assert.isAbove(quotes.length, 3)
      for (const { evidence, price } of quotes) {
        assert.match(price.display, /^\$[\d,]+\.\d\d for (6|12) months$/)
        assert.include(summary, price.display)
        assert.isNotEmpty(evidence.assumptions)
        for (const { label } of evidence.assumptions) assert.include(summary, label)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads limits, deductibles, exclusions and fees", () =>
    Effect.gen(function* () {
      const id = yield* played("quotes_ready")
      const { summary } = (yield* call("get_quote_request", { id })).structuredContent
      for (const said of [
        "bodily injury per person $50,000",
        "collision $500 deductible",
        "not covered: medical payments",
        "policy fee $60",
        "Whether the prices include the fees is unknown."
      ]) {
        assert.include(summary, said)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads a deductible for the whole home only once", () =>
    Effect.gen(function* () {
      yield* at
      const start = { line: "renters", request_key: "a-home", consent_receipt_id: "receipt-0001" }
      const application = ExampleApplications.smallest.renters
      const { id } = (yield* call("start_quote_request", { ...start, application })).structuredContent
      yield* advanced(90)
      const { summary } = (yield* call("get_quote_request", { id })).structuredContent
      assert.include(summary, "; deductible $500;")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("learns which carriers were not asked, and why", () =>
    Effect.gen(function* () {
      yield* at
      const { credit_disclosure_receipt_id: _, scenario: __, ...start } = startOf("none")
      const { id } = (yield* call("start_quote_request", start)).structuredContent
      yield* advanced(90)
      const { summary } = (yield* call("get_quote_request", { id })).structuredContent
      assert.match(summary, /Not asked: Meridian Lane .*credit_disclosure_receipt_id/)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads a carrier's question and the path of each missing fact", () =>
    Effect.gen(function* () {
      const id = yield* played("action_required")
      const { questions, quote_request, summary } = (yield* call("get_quote_request", { id })).structuredContent
      assert.strictEqual(quote_request.status, "action_required")
      assert.isNotEmpty(questions)
      for (const { missing_facts, question } of questions) {
        assert.include(summary, question)
        for (const path of missing_facts) assert.include(summary, path)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is told that no carrier was asked if the request could not start", () =>
    Effect.gen(function* () {
      const id = yield* played("cannot_start")
      const { quote_request, summary } = (yield* call("get_quote_request", { id })).structuredContent
      assert.deepStrictEqual([quote_request.status, quote_request.carriers], ["failed", []])
      assert.include(summary, "no carrier was asked")
      assert.notInclude(summary, "carriers says")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads the carrier's link, and learns that no tool can open the link", () =>
    Effect.gen(function* () {
      const id = yield* played("quotes_ready")
      const [{ id: quote_id }] = (yield* call("get_quote_request", { id })).structuredContent.quotes
      const { next_actions, summary } = (yield* call("get_quote", { id: quote_id })).structuredContent
      const onward = next_actions.find(({ type }: { type: string }) => type === "continue_on_carrier_site")
      assert.include(summary, `the person opens this link themselves: ${onward.url}\n`)
      assert.include(summary, "No tool can open it, and no tool exists for request_assistance.")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads the full text of each disclosure", () =>
    Effect.gen(function* () {
      for (const line of ["personal_auto", "renters", "pet"]) {
        const { capabilities } = (yield* call("get_capabilities", { line })).structuredContent
        assert.isNotEmpty(capabilities.disclosures, line)
        for (const { key, text } of capabilities.disclosures) assert.isAbove(text.length, 20, key)
      }
    }).pipe(Effect.provide(layer()))
  )
})

describe("a model that needs a line's required facts", () => {
  it.effect("reads alternative facts as one item, and the condition of each conditional fact", () =>
    Effect.gen(function* () {
      const auto = (yield* call("get_capabilities", { line: "personal_auto" })).structuredContent.summary
      assert.include(auto, "Ask the person 6 things")
      assert.include(auto, "VIN of the vehicle, or Model year of the vehicle")
      const pet = (yield* call("get_capabilities", { line: "pet" })).structuredContent.summary
      assert.include(pet, "Ask the person 5 things")
      assert.include(pet, "Month of birth of the pet, or Age of the pet in years")
      assert.include(pet, "Size of a dog of mixed or unknown breed (if species is dog and breed is mixed or unknown)")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a short response if the call selects a state, and otherwise all states", () =>
    Effect.gen(function* () {
      const { capabilities } = (yield* call("get_capabilities", { line: "personal_auto", state: "TX" }))
        .structuredContent
      assert.deepStrictEqual(
        capabilities.states.map(({ code }: { code: string }) => code),
        ["TX"]
      )
      assert.isNotEmpty(capabilities.required_facts)
      assert.isUndefined(capabilities.required_facts_schema)
      const allowed = new Map<string, unknown>(
        capabilities.required_facts.map((fact: { path: string; allowed_values?: unknown }) => [
          fact.path,
          fact.allowed_values
        ])
      )
      assert.include(allowed.get("drivers.0.license_status"), "valid")
      assert.isUndefined(allowed.get("garaging_address.state"))
      assert.isUndefined(allowed.get("vehicles.0.make"))
      const whole = (yield* call("get_capabilities", { line: "personal_auto" })).structuredContent.capabilities
      assert.lengthOf(whole.states, 51)
      assert.isObject(whole.required_facts_schema)
      const refused = yield* call("get_capabilities", { line: "personal_auto", state: "Texas" })
      assert.include(refused.structuredContent.error.field_errors[0].allowed_values, "TX")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reads the alternatives for a missing fact on one line, with their paths", () =>
    Effect.gen(function* () {
      yield* at
      const start = startOf("quotes_ready")
      const { content, isError } = yield* call("start_quote_request", {
        ...start,
        application: { ...start.application, vehicles: [start.application.vehicles[0], {}] }
      })
      assert.isTrue(isError)
      const lines = content[0].text.split("\n").filter((line: string) => line.startsWith("application."))
      assert.lengthOf(lines, 1)
      assert.match(lines[0], /^application\.vehicles\.1\.vin, or application\.vehicles\.1\.model_year and .*: VIN of/)
    }).pipe(Effect.provide(layer()))
  )
})

describe("a model without a key", () => {
  it.effect("learns which consents to send and which carriers will not be asked", () =>
    Effect.gen(function* () {
      const { carriers_not_asked, consents_to_send, summary } = (yield* callKeyless("get_capabilities", {
        line: "personal_auto"
      })).structuredContent
      assert.deepStrictEqual(
        consents_to_send.map(({ field }: { field: string }) => field),
        ["quote_disclosure_version", "quote_disclosure_accepted"]
      )
      assert.deepStrictEqual(carriers_not_asked, [{ carrier_id: "sbx_meridian", reason: "credit_disclosure_missing" }])
      assert.include(summary, "sbx_meridian")
      const california = yield* callKeyless("get_capabilities", { line: "personal_auto", state: "CA" })
      assert.isUndefined(california.structuredContent.carriers_not_asked)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("learns from the results which carriers were not asked because it has no key", () =>
    Effect.gen(function* () {
      yield* at
      const started = yield* callKeyless("start_quote_request", {
        ...keyless,
        line: "personal_auto",
        application: ExampleApplications.smallest.personal_auto
      })
      const { id, read_handle } = started.structuredContent
      yield* advanced(90)
      const { summary } = (yield* callKeyless("get_quote_request", { id, read_handle })).structuredContent
      assert.match(
        summary,
        /4 of 5 carriers were asked\.\nNot asked: Meridian Lane .*callers without a key cannot allow/
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is told if a tool needs a key", () =>
    Effect.gen(function* () {
      const { message } = (yield* callKeyless("list_quote_requests", {})).structuredContent.error
      assert.include(message, "this call has no key")
      const platform = (yield* call("list_quote_requests", {}, "platform")).structuredContent.error
      assert.notInclude(platform.message, "no key")
    }).pipe(Effect.provide(layer()))
  )
})

describe("reads with only_changes", () => {
  type Read = Resource.QuoteRequestWithQuotes

  it.effect.each(["quotes_ready", "some_carriers_silent", "zero_quotes", "price_update", "late_answer"])(
    "together contain every carrier's result and every quote: %s",
    (scenario) =>
      Effect.gen(function* () {
        yield* at
        const { id, version } = (yield* call("start_quote_request", startOf(scenario))).structuredContent
        const reads = yield* followed(id, version)
        const whole: Read = (yield* call("get_quote_request", { id, wait_seconds: 0 })).structuredContent
        const carriers = new Map(
          reads.flatMap(({ structuredContent: { quote_request } }: { structuredContent: Read }) =>
            quote_request.carriers.map((result) => [result.carrier.id, result] as const)
          )
        )
        assert.sameDeepMembers([...carriers.values()], [...whole.quote_request.carriers])
        const quotes = reads.flatMap(({ structuredContent }: { structuredContent: Read }) =>
          structuredContent.quotes.map((quote) => quote.id)
        )
        assert.sameMembers(
          [...new Set(quotes)],
          whole.quotes.map((quote) => quote.id)
        )
      }).pipe(Effect.provide(layer()))
  )

  it.effect("refer to the first quote's ID instead of repeating the coverage", () =>
    Effect.gen(function* () {
      yield* at
      const { id, version } = (yield* call("start_quote_request", startOf("quotes_ready"))).structuredContent
      const reads = yield* followed(id, version)
      const quotes = reads.flatMap(({ structuredContent }) => structuredContent.quotes)
      const [first, ...others] = quotes
      assert.isObject(first.coverage)
      assert.isUndefined(first.rest_as_in)
      for (const quote of others) {
        assert.strictEqual(quote.rest_as_in, first.id)
        assert.isUndefined(quote.coverage)
        assert.match(quote.price.display, /^\$/)
      }
      const last = reads.at(-1)?.structuredContent
      assert.include(last.summary, "leave out only_changes")
      for (const quote of quotes) assert.include(last.summary, quote.price.display)
      const whole = (yield* call("get_quote_request", { id, wait_seconds: 0 })).structuredContent
      for (const quote of whole.quotes) assert.isObject(quote.coverage)
      const again = yield* call("get_quote_request", {
        id,
        since_version: last.quote_request.version,
        only_changes: true
      })
      assert.deepStrictEqual(again.structuredContent.quotes, [])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are the only reads that return less than the whole quote request", () =>
    Effect.gen(function* () {
      const id = yield* played("quotes_ready")
      const all = (yield* call("get_quote_request", { id })).structuredContent
      const since = (yield* call("get_quote_request", { id, since_version: all.quote_request.version - 1 }))
        .structuredContent
      assert.deepStrictEqual(since, all)
      const wrong = (yield* call("get_quote_request", { id, only_changes: "yes" })).structuredContent
      assert.strictEqual(wrong.error.field_errors[0].path, "only_changes")
    }).pipe(Effect.provide(layer()))
  )

  it.effect.each([1, 99])(
    "contain the whole quote request if since_version is not the version of an earlier read: %s",
    (version) =>
      Effect.gen(function* () {
        const id = yield* played("quotes_ready")
        const all = (yield* call("get_quote_request", { id })).structuredContent
        const read = (yield* call("get_quote_request", { id, since_version: version, only_changes: true }))
          .structuredContent
        assert.deepStrictEqual({ ...read, quotes: [] }, { ...all, quotes: [] })
        const [first, ...others] = read.quotes
        const [shared, ...rest] = all.quotes
        assert.deepStrictEqual(first, shared)
        assert.isAbove(others.length, 1)
        for (const [index, quote] of others.entries()) {
          const { application_id, application_version, environment, quote_request_id, ...whole } = rest[index]
          const { rest_as_in, ...own } = quote
          assert.strictEqual(rest_as_in, first.id)
          assert.deepStrictEqual(
            {
              ...own,
              coverage: first.coverage,
              evidence: { ...own.evidence, assumptions: first.evidence.assumptions }
            },
            whole
          )
        }
      }).pipe(Effect.provide(layer()))
  )
})
