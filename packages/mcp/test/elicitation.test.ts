import { assert, describe, it } from "@effect/vitest"
import { defineCarrier, type FactPath, Reply } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, modern, modernHeaders, type Sent } from "./support/agents.ts"
import { call as callPlain } from "./support/journey.ts"

const tool = "start_quote_request"
const forms = { elicitation: { form: {} } }
const at = Effect.suspend(() => TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z"))))

const key = (number: number) => `0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c${10 + number}`
const startWith = (number: number, changes: object = {}) => ({
  line: "renters",
  request_key: key(number),
  application: ExampleApplications.smallest.renters,
  ...changes
})

/** What a modern program sends with a call. By default it can show forms. */
interface Call {
  readonly retry?: object
  readonly as?: Sent["as"]
  readonly capabilities?: object
}

/** Sends a call like a program of 2026-07-28. */
const send = Effect.fnUntraced(function* (args: object, { as, capabilities = forms, retry = {} }: Call = {}) {
  const { body } = yield* (yield* Agents).send({
    ...(as !== undefined && { as }),
    headers: modernHeaders("tools/call", tool),
    message: modern("tools/call", { name: tool, arguments: args, ...retry }, capabilities)
  })
  return body.result ?? body
})

/** The next round after a question, with what the person did. */
const answering = (question: { readonly requestState: string; readonly inputRequests: object }, answer: object) => ({
  retry: {
    requestState: question.requestState,
    inputResponses: Object.fromEntries(Object.keys(question.inputRequests).map((name) => [name, answer]))
  }
})
const agreeing = { action: "accept", content: { agree: true } }

/** A carrier that makes no offer without this fact. */
const needing = (need: FactPath<"renters">) =>
  defineCarrier({
    id: "naic:00000",
    name: "Needy Mutual",
    environments: ["sandbox"],
    lines: { renters: { states: ["NY"], idempotent: true, needs: [need] } },
    handoff_hosts: [],
    ask: () => Reply.decline("property_not_eligible", "It insures nobody.")
  })

/** The number of quote requests. */
const started = Effect.map(
  callPlain("list_quote_requests", {}),
  ({ structuredContent }) => structuredContent.quote_requests
)

const noStart = Effect.map(started, (requests) => assert.lengthOf(requests, 0))

describe("a program that can show forms", () => {
  it.effect("gets a form with the exact disclosure, and its call continues if the person agrees", () =>
    Effect.gen(function* () {
      yield* at
      const question = yield* send(startWith(1))
      assert.strictEqual(question.resultType, "input_required")
      const { method, params } = question.inputRequests.agreement
      assert.strictEqual(method, "elicitation/create")
      const { quote_disclosure } = (yield* (yield* Agents).call("get_capabilities", { line: "renters" }))
        .structuredContent
      assert.include(params.message, quote_disclosure.text)
      assert.include(params.message, quote_disclosure.version)
      yield* noStart
      const result = yield* send(startWith(1), answering(question, agreeing))
      assert.strictEqual(result.resultType, "complete")
      assert.isFalse(result.isError)
      assert.deepInclude(result.structuredContent.quote_consent, {
        asked_by: "elicitation",
        disclosure_version: quote_disclosure.version,
        text_sha256: quote_disclosure.text_sha256,
        accepted_at: "2026-11-20T12:00:00.000Z"
      })
      assert.lengthOf(yield* started, 1)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is asked to show a form even if the arguments claim that the person agreed", () =>
    Effect.gen(function* () {
      const forged = { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true }
      assert.strictEqual((yield* send(startWith(1, forged))).resultType, "input_required")
      yield* noStart
      const plain = yield* send(startWith(1, forged), { capabilities: { elicitation: { url: {} } } })
      assert.strictEqual(plain.structuredContent.quote_consent.asked_by, "argument")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a refusal instead of a form for invalid input", () =>
    Effect.gen(function* () {
      const wrong = yield* send(startWith(1, { application: { dwelling: { type: "castle" } } }))
      assert.strictEqual(wrong.structuredContent.error.code, "invalid_input")
      assert.notInclude(JSON.stringify(wrong), "quote_disclosure")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a refusal for deeply nested arguments, even along with a request state", () =>
    Effect.gen(function* () {
      // `JSON.stringify` could not serialize it.
      const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`
      for (const retry of [{}, { requestState: "a~b" }]) {
        const params = { name: tool, arguments: startWith(1, { application: "deep" }), ...retry }
        const { body } = yield* (yield* Agents).send({
          headers: modernHeaders("tools/call", tool),
          body: JSON.stringify(modern("tools/call", params, forms)).replace('"deep"', deep)
        })
        assert.include(body.error.message, "params.arguments")
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a form for missing facts, with the line's labels", () =>
    Effect.gen(function* () {
      yield* at
      const { dwelling } = ExampleApplications.smallest.renters
      const args = startWith(1, { application: { dwelling: { address: { state: dwelling.address.state } } } })
      const question = yield* send(args)
      const { message, requestedSchema } = question.inputRequests.facts.params
      assert.include(message, "rented homes")
      assert.deepStrictEqual(requestedSchema.required, ["dwelling.address.zip", "dwelling.type"])
      assert.deepStrictEqual(requestedSchema.properties["dwelling.type"].title, "Kind of home")
      const { enum: values, enumNames: names } = requestedSchema.properties["dwelling.type"]
      assert.strictEqual(names[values.indexOf("single_family")], "single family")
      const content = { "dwelling.address.zip": dwelling.address.zip, "dwelling.type": dwelling.type }
      const next = yield* send(args, answering(question, { action: "accept", content }))
      assert.notInclude(next.requestState, dwelling.address.zip)
      const result = yield* send(args, answering(next, agreeing))
      assert.isFalse(result.isError, JSON.stringify(result))
      assert.lengthOf(yield* started, 1)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a form for missing facts, but not for consent, if it has a key", () =>
    Effect.gen(function* () {
      const args = startWith(1, { consent_receipt_id: "receipt-0001", application: { dwelling: { type: "condo" } } })
      const question = yield* send(args, { as: "platform" })
      const content = { "dwelling.address.zip": "10001", "dwelling.address.state": "NY" }
      const result = yield* send(args, { as: "platform", ...answering(question, { action: "accept", content }) })
      assert.isFalse(result.isError, JSON.stringify(result))
      const refused = yield* send(startWith(2), { as: "platform" })
      assert.strictEqual(refused.structuredContent.error.retry_action.type, "none")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a form with optional fields for two alternative facts", () =>
    Effect.gen(function* () {
      const pets = [{ species: "cat", breed: "mixed" }]
      const args = startWith(1, { line: "pet", application: { residence: { state: "NY", zip: "10001" }, pets } })
      const question = yield* send(args)
      const { properties, required } = question.inputRequests.facts.params.requestedSchema
      assert.sameMembers(Object.keys(properties), ["pets.0.birth_month", "pets.0.age_years"])
      assert.deepStrictEqual(required, [])
      const next = yield* send(args, answering(question, { action: "accept", content: { "pets.0.age_years": 3 } }))
      assert.property(next.inputRequests, "agreement")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets a form for every missing fact, even for facts in lists", () =>
    Effect.gen(function* () {
      yield* at
      const args = startWith(1, { line: "personal_auto", application: {} })
      const question = yield* send(args)
      const { properties, required } = question.inputRequests.facts.params.requestedSchema
      assert.include(properties["drivers.0.date_of_birth"], { type: "string", format: "date" })
      assert.notInclude(required, "vehicles.0.vin")
      const content = {
        "garaging_address.state": "TX",
        "garaging_address.zip": "78701",
        "drivers.0.relationship": "self",
        "drivers.0.date_of_birth": "1990-02-03",
        "drivers.0.license_status": "valid",
        "vehicles.0.vin": "",
        "vehicles.0.model_year": 2020,
        "vehicles.0.make": "Honda",
        "vehicles.0.model": "Civic",
        "applicant.first_name": "was not asked for"
      }
      const next = yield* send(args, answering(question, { action: "accept", content }))
      assert.property(next.inputRequests, "agreement", JSON.stringify(next))
    }).pipe(Effect.provide(layer()))
  )

  for (const [need, isAsked] of [
    ["applicant.date_of_birth", true],
    ["applicant.first_name", false],
    ["applicant.phone", false]
  ] as const) {
    it.effect(`gets ${isAsked ? "a" : "no"} form for a missing ${need}`, () =>
      Effect.gen(function* () {
        const result = yield* send(startWith(1))
        if (isAsked) return assert.property(result.inputRequests.facts.params.requestedSchema.properties, need)
        assert.strictEqual(result.structuredContent.error.code, "needs_information")
        assert.include(JSON.stringify(result), need)
      }).pipe(Effect.provide(layer({ carriers: [needing(need)] })))
    )
  }

  it.effect("gets no form if more facts are missing than one form can hold", () =>
    Effect.gen(function* () {
      const application = { drivers: [{}, {}, {}], vehicles: [{}, {}] }
      const many = yield* send(startWith(1, { line: "personal_auto", application }))
      assert.strictEqual(many.structuredContent.error.code, "needs_information")
      assert.strictEqual(many.structuredContent.error.retry_action.type, "supply_facts")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("does not see the consent arguments in the list of tools", () =>
    Effect.gen(function* () {
      const listed = (capabilities: object) =>
        Effect.flatMap(Agents, ({ send }) =>
          send({ headers: modernHeaders("tools/list"), message: modern("tools/list", {}, capabilities) })
        )
      const startIn = ({ body }: Effect.Success<ReturnType<typeof listed>>) =>
        body.result.tools.find(({ name }: { readonly name: string }) => name === tool).inputSchema.properties
      assert.notProperty(startIn(yield* listed(forms)), "quote_disclosure_accepted")
      assert.property(startIn(yield* listed({})), "quote_disclosure_accepted")
    }).pipe(Effect.provide(layer()))
  )
})

describe("a person's answer to a form", () => {
  for (const answer of [{ action: "decline" }, { action: "accept", content: { agree: false } }]) {
    it.effect(`ends the start call permanently if the person declines: ${JSON.stringify(answer)}`, () =>
      Effect.gen(function* () {
        const question = yield* send(startWith(1))
        const refused = yield* send(startWith(1), answering(question, answer))
        assert.isTrue(refused.isError)
        assert.strictEqual(refused.structuredContent.error.retry_action.type, "none")
        assert.include(refused.content[0].text, "declined")
        for (const taught of ["2026-09-26", "true", "disclosure_version", "requestState", "argument"]) {
          assert.notInclude(refused.content[0].text, taught)
        }
        // What an agent might try next, each with the same start.
        const forged = { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true }
        const again = [
          send(startWith(1)),
          send(startWith(1, forged)),
          send(startWith(1), answering(question, agreeing)),
          send(startWith(1, forged), { capabilities: {} })
        ]
        for (const attempt of yield* Effect.all(again)) {
          assert.isTrue(attempt.isError)
          assert.include(attempt.content[0].text, "declined")
        }
        // Another start call asks the person again, whatever its arguments say.
        assert.strictEqual((yield* send(startWith(2, forged))).resultType, "input_required")
        yield* noStart
      }).pipe(Effect.provide(layer()))
    )
  }

  it.effect("is final for the request_key if the person declines, even if a retry omits facts", () =>
    Effect.gen(function* () {
      const args = startWith(1, { application: { dwelling: { address: { state: "NY", zip: "10001" } } } })
      const facts = yield* send(args)
      const told = { action: "accept", content: { "dwelling.type": "condo" } }
      const agreement = yield* send(args, answering(facts, told))
      assert.include((yield* send(args, answering(agreement, { action: "decline" }))).content[0].text, "declined")
      const forged = { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true }
      const again = [
        send(args),
        send(args, answering(facts, told)),
        send({ ...startWith(1), ...forged }, { capabilities: {} })
      ]
      for (const attempt of yield* Effect.all(again)) {
        assert.include(attempt.content[0].text, "declined")
        assert.strictEqual(attempt.structuredContent.error.retry_action.type, "none")
      }
      yield* noStart
    }).pipe(Effect.provide(layer()))
  )

  it.effect("can be given in another form if the person only closed the form", () =>
    Effect.gen(function* () {
      const question = yield* send(startWith(1))
      for (const answer of [{ action: "cancel" }, {}, "yes"].map((given) => answering(question, Object(given)))) {
        const closed = yield* send(startWith(1), answer)
        assert.strictEqual(closed.structuredContent.error.retry_action.type, "none")
      }
      yield* noStart
      const asked = yield* send(startWith(1))
      assert.strictEqual(asked.resultType, "input_required")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("ends the call without another form if the person declines to give facts", () =>
    Effect.gen(function* () {
      const args = startWith(1, { application: { dwelling: { type: "condo" } } })
      const question = yield* send(args)
      const refused = yield* send(args, answering(question, { action: "decline" }))
      assert.strictEqual(refused.structuredContent.error.retry_action.type, "none")
      assert.strictEqual(refused.structuredContent.error.code, "needs_information")
      assert.notInclude(refused.content[0].text, "then call again")
    }).pipe(Effect.provide(layer()))
  )
})

describe("a form's requestState", () => {
  it.effect("is refused after ten minutes, if it is altered, from another caller, or with other arguments", () =>
    Effect.gen(function* () {
      yield* at
      const question = yield* send(startWith(1))
      const { requestState } = question
      const isRefused = Effect.fnUntraced(function* (args: object, call: Call) {
        const { error } = yield* send(args, call)
        assert.strictEqual(error?.code, -32602)
        yield* noStart
      })
      yield* isRefused(startWith(2), answering(question, agreeing))
      yield* isRefused(startWith(1, { scenario: "quotes_ready" }), answering(question, agreeing))
      yield* isRefused(startWith(1), { as: "platform", ...answering(question, agreeing) })
      for (const altered of ["", "~", requestState.slice(0, -2), `x${requestState}`, requestState.replace("~", "~x")]) {
        yield* isRefused(startWith(1), answering({ ...question, requestState: altered }, agreeing))
      }
      yield* TestClock.adjust("10 minutes")
      yield* isRefused(startWith(1), answering(question, agreeing))
    }).pipe(Effect.provide(layer()))
  )

  it.effect("starts only one quote request, however often it is used", () =>
    Effect.gen(function* () {
      yield* at
      const question = yield* send(startWith(1))
      const results = [
        yield* send(startWith(1), answering(question, agreeing)),
        yield* send(startWith(1), answering(question, agreeing)),
        yield* send(startWith(1))
      ]
      assert.lengthOf(new Set(results.map(({ structuredContent }) => structuredContent.id)), 1)
      assert.lengthOf(yield* started, 1)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("leads to only a few forms if the answers stay empty", () =>
    Effect.gen(function* () {
      let question = yield* send(startWith(1))
      let asked = 1
      while (question.resultType === "input_required" && asked < 20) {
        question = yield* send(startWith(1), answering(question, { action: "accept", content: {} }))
        asked++
      }
      assert.strictEqual(question.structuredContent.error.retry_action.type, "none")
      assert.isBelow(asked, 8)
      yield* noStart
    }).pipe(Effect.provide(layer()))
  )
})
