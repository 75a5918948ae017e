import { assert, describe, it } from "@effect/vitest"
import { Allowance, Quotewire } from "@quotewire/core"
import { Effect, Fiber } from "effect"
import { Base64Url } from "effect/encoding"
import { TestClock } from "effect/testing"
import { Agents, type Got, toolsCall } from "./support/agents.ts"
import { call } from "./support/journey.ts"
import {
  agreeing,
  agreement,
  connected,
  dwelling,
  forms,
  inWorld,
  next,
  resultOf,
  start,
  started,
  told,
  withoutFact
} from "./support/streamedForms.ts"

describe("an HTTP client after a handshake", () => {
  it.effect("gets the disclosure as a form, and the call continues when the person answers", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id, method, params } = yield* next(calling)
        assert.strictEqual(method, "elicitation/create")
        assert.deepStrictEqual(Object.keys(params.requestedSchema.properties), ["agree"])
        assert.lengthOf(yield* started, 0)
        const { body, status } = yield* answer(id, agreeing)
        assert.deepStrictEqual([status, body], [202, null])
        const result = yield* resultOf(calling)
        assert.strictEqual(result.structuredContent.quote_consent.asked_by, "elicitation")
        assert.lengthOf(yield* started, 1)
        // A program that missed the result gets it by repeating the call, and the person is not asked again.
        const again = yield* Fiber.join((yield* begin(start)).fiber)
        assert.strictEqual(again.body.result.structuredContent.id, result.structuredContent.id)
      })
    )
  )

  it.effect("gets the form for missing facts before the form for consent", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin({ ...start, application: withoutFact.application })
        const facts = yield* next(calling)
        yield* answer(facts.id, told)
        const agree = yield* next(calling)
        assert.notStrictEqual(agree.id, facts.id)
        yield* answer(agree.id, agreeing)
        assert.isFalse((yield* resultOf(calling)).isError)
      })
    )
  )

  for (const [does, given, says] of [
    ["declines", { action: "decline" }, "declined"],
    ["closes the form", { action: "cancel" }, "closed without an answer"],
    ["gives an invalid answer", "yes", "closed without an answer"]
  ] as const) {
    it.effect(`starts no quote request if the person ${does}`, () =>
      inWorld(
        Effect.gen(function* () {
          const { answer, begin } = yield* connected()
          const calling = yield* begin({ ...start, ...agreement })
          yield* answer((yield* next(calling)).id, given)
          const refused = yield* resultOf(calling)
          assert.isTrue(refused.isError)
          assert.include(refused.content[0].text, says)
          assert.lengthOf(yield* started, 0)
        })
      )
    )
  }

  it.effect("is told to close a form after ten minutes", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(calling.events, [":", ":", ":", ":"])
        yield* TestClock.adjust("9 minutes")
        const refused = yield* resultOf(calling)
        assert.include(refused.content[0].text, "closed without an answer")
        const [withdrawn] = calling.events.filter((event) => event.method === "notifications/cancelled")
        assert.strictEqual(withdrawn.params.requestId, id)
        assert.strictEqual((yield* answer(id, agreeing)).status, 202)
        assert.lengthOf(yield* started, 0)
      })
    )
  )

  it.effect("can disconnect while a form is open", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        yield* Fiber.interrupt(calling.fiber)
        assert.strictEqual((yield* answer(id, agreeing)).status, 202)
        const again = yield* begin(start)
        assert.notStrictEqual((yield* next(again)).id, id)
        assert.lengthOf(yield* started, 0)
        yield* Fiber.interrupt(again.fiber)
      })
    )
  )

  it.effect("gets no form if it accepts only JSON, sends a batch, or forges a session", () =>
    inWorld(
      Effect.gen(function* () {
        const { begin, headers } = yield* connected()
        const { send } = yield* Agents
        const askedBy = (result: Got["body"]) => result.structuredContent.quote_consent.asked_by
        const json = yield* begin({ ...start, ...agreement }, { accept: "application/json" })
        assert.strictEqual(askedBy((yield* Fiber.join(json.fiber)).body.result), "argument")
        const [payload] = headers["mcp-session-id"].split(".")
        const forged = yield* begin({ ...start, ...agreement }, { "mcp-session-id": `${payload}.${"a".repeat(8)}.a` })
        assert.strictEqual(askedBy((yield* Fiber.join(forged.fiber)).body.result), "argument")
        const batch = yield* send({
          headers: { ...headers, "mcp-protocol-version": "2025-03-26" },
          message: [toolsCall("start_quote_request", { ...start, ...agreement })]
        })
        assert.strictEqual(askedBy(batch.body[0].result), "argument")
      })
    )
  )

  for (const [says, capabilities, protocolVersion] of [
    ["declares no form support", {}, "2025-11-25"],
    ["supports only URL forms", { elicitation: { url: {} } }, "2025-11-25"],
    ["speaks a revision without forms", forms, "2025-03-26"]
  ] as const) {
    it.effect(`gets a JSON response without a form if it ${says}`, () =>
      inWorld(
        Effect.gen(function* () {
          const { begin } = yield* connected(capabilities, { protocolVersion })
          const { fiber } = yield* begin({ ...start, ...agreement })
          const { body, headers } = yield* Fiber.join(fiber)
          assert.strictEqual(headers["content-type"], "application/json")
          assert.strictEqual(body.result.structuredContent.quote_consent.asked_by, "argument")
        })
      )
    )
  }

  it.effect("does not see the consent arguments in the list of tools", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin, headers } = yield* connected()
        const { send } = yield* Agents
        const { body } = yield* send({ headers, message: { jsonrpc: "2.0", id: 1, method: "tools/list" } })
        const tool = body.result.tools.find((tool: Got["body"]) => tool.name === "start_quote_request")
        assert.notProperty(tool.inputSchema.properties, "quote_disclosure_accepted")
        const calling = yield* begin(start, {}, { progressToken: 1 })
        yield* answer((yield* next(calling)).id, agreeing)
        assert.isFalse((yield* resultOf(calling)).isError)
      })
    )
  )

  it.effect("keeps a session that an older release created, but gets no form in the session", () =>
    inWorld(
      Effect.gen(function* () {
        const { begin } = yield* connected(forms, { as: "server" })
        const payload = Base64Url.encode(JSON.stringify({ name: "an-old-client", version: "1" }))
        const session = `${payload}.${yield* Quotewire.sign("test", payload)}`
        const { fiber } = yield* begin(withoutFact, { "mcp-session-id": session })
        const { structuredContent: refused } = (yield* Fiber.join(fiber)).body.result
        assert.strictEqual(refused.error.retry_action.type, "supply_facts")
        yield* TestClock.adjust("1 second")
        const { structuredContent } = yield* call("list_api_requests", {})
        assert.include(JSON.stringify(structuredContent), "an-old-client")
      })
    )
  )

  it.effect("gets plain JSON for calls that need no form", () =>
    inWorld(
      Effect.gen(function* () {
        const { begin } = yield* connected()
        const { fiber } = yield* begin({ ...start, line: "boats" })
        const { body, headers } = yield* Fiber.join(fiber)
        assert.strictEqual(headers["content-type"], "application/json")
        assert.strictEqual(body.result.structuredContent.error.code, "invalid_input")
      })
    )
  )
})

describe("the answer to a form", () => {
  it.effect("is ignored if an earlier answer to the form has arrived", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        const both = yield* Effect.all([answer(id, { action: "decline" }), answer(id, agreeing)])
        assert.deepStrictEqual(
          both.map(({ status }) => status),
          [202, 202]
        )
        assert.include((yield* resultOf(calling)).content[0].text, "declined")
        assert.lengthOf(yield* started, 0)
      })
    )
  )

  it.effect("is accepted only from the form's own caller, with the form's exact ID", () =>
    inWorld(
      Effect.gen(function* () {
        const person = yield* connected(forms, { as: "platform" })
        const calling = yield* person.begin(withoutFact)
        const { id } = yield* next(calling)
        const [name, expires_at, signature] = id.split("~")
        const forged = [
          `${name}~${Number(expires_at) + 1}~${signature}`,
          `${name}~0${expires_at}~${signature}`,
          `${name}0~${expires_at}~${signature}`,
          `${name}~${expires_at}`,
          name
        ]
        for (const other of forged) assert.strictEqual((yield* person.answer(other, told)).status, 202)
        for (const as of ["server", "widget", undefined] as const) {
          assert.strictEqual((yield* person.answer(id, told, as === undefined ? {} : { as })).status, 202)
        }
        assert.strictEqual((yield* person.answer(id, told, { as: { authorization: "Bearer x" } })).status, 401)
        assert.isUndefined(calling.fiber.pollUnsafe())
        yield* person.answer(id, told)
        assert.isFalse((yield* resultOf(calling)).isError)
      })
    )
  )

  it.effect("is accepted even if it contains deeply nested extra fields", () =>
    inWorld(
      Effect.gen(function* () {
        const { begin, headers } = yield* connected()
        const { send } = yield* Agents
        const calling = yield* begin(start)
        const id = JSON.stringify((yield* next(calling)).id)
        const content = `{"agree":true,"list":["text"],"deep":${"[".repeat(50_000)}${"]".repeat(50_000)}}`
        const body = `{"jsonrpc":"2.0","id":${id},"result":{"action":"accept","content":${content}}}`
        assert.strictEqual((yield* send({ headers, body })).status, 202)
        assert.isFalse((yield* resultOf(calling)).isError)
      })
    )
  )

  const twoCallsAMinute = {
    limits: {
      ...Allowance.noLimits,
      keyless: { ...Allowance.noLimits.keyless, other: { per_minute: 2, per_day: null } }
    }
  }

  it.effect("counts toward the call limit only if the answer is repeated", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        const statuses = yield* Effect.forEach([1, 2, 3, 4], () =>
          Effect.map(answer(id, agreeing), ({ status }) => status)
        )
        assert.deepStrictEqual(statuses, [202, 202, 202, 429])
        assert.isFalse((yield* resultOf(calling)).isError)
        // Only answers to forms count toward the limits.
        assert.strictEqual((yield* answer("another-id", agreeing)).status, 202)
      }),
      twoCallsAMinute
    )
  )

  it.effect("is accepted even if the caller has reached the call limit", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        const other = yield* begin({ ...start, request_key: "0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c13" })
        const { id: other_id } = yield* next(other)
        while ((yield* answer(other_id, agreeing)).status !== 429) yield* Effect.yieldNow
        assert.strictEqual((yield* answer(id, agreeing)).status, 202)
        assert.isFalse((yield* resultOf(calling)).isError)
      }),
      twoCallsAMinute
    )
  )

  it.effect("counts toward the call limit if the answer arrives too late", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        yield* Fiber.interrupt(calling.fiber)
        const statuses = yield* Effect.forEach([1, 2, 3], () =>
          Effect.map(answer(id, agreeing), ({ status }) => status)
        )
        assert.deepStrictEqual(statuses, [202, 202, 429])
      }),
      twoCallsAMinute
    )
  )

  it.effect("starts the quote request even if the caller has since reached the start limit", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected()
        const calling = yield* begin(start)
        const { id } = yield* next(calling)
        const refused = yield* begin({ ...start, request_key: "0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c12" })
        const { body } = yield* Fiber.join(refused.fiber)
        assert.strictEqual(body.result.structuredContent.error.code, "rate_limited")
        yield* answer(id, agreeing)
        assert.isFalse((yield* resultOf(calling)).isError)
        assert.lengthOf(yield* started, 1)
      }),
      {
        limits: {
          ...Allowance.noLimits,
          keyless: { ...Allowance.noLimits.keyless, start: { per_minute: 1, per_day: null } }
        }
      }
    )
  )

  it.effect("is logged if a rate limit refuses the answer", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected(forms, { as: "platform" })
        const calling = yield* begin(withoutFact)
        const { id } = yield* next(calling)
        yield* Effect.forEach([1, 2, 3], () => answer(id, told))
        yield* resultOf(calling)
        yield* TestClock.adjust("1 second")
        const { structuredContent } = yield* call("list_api_requests", {})
        const logged: ReadonlyArray<Got["body"]> = structuredContent.requests
        const refused = logged.filter(({ status }) => status === 429)
        assert.deepStrictEqual(
          refused.map(({ error_code }) => error_code),
          ["rate_limited"]
        )
      }),
      {
        limits: {
          ...Allowance.noLimits,
          keys: {
            ...Allowance.noLimits.keys,
            sandbox: { ...Allowance.noLimits.keys.sandbox, other: { per_minute: 1, per_day: null } }
          }
        }
      }
    )
  )

  it.effect("is logged once, without its content", () =>
    inWorld(
      Effect.gen(function* () {
        const { answer, begin } = yield* connected(forms, { as: "platform" })
        const calling = yield* begin(withoutFact)
        yield* answer((yield* next(calling)).id, told)
        yield* resultOf(calling)
        yield* TestClock.adjust("1 second")
        const { structuredContent } = yield* call("list_api_requests", {})
        const logged: ReadonlyArray<Got["body"]> = structuredContent.requests
        assert.sameDeepMembers(
          logged.map(({ operation, status, error_code, agent }) => [operation, status, error_code, agent.client_name]),
          [
            ["start_quote_request", 200, null, "a-client"],
            [null, 202, null, "a-client"],
            ["start_quote_request", 200, "needs_information", "a-client"],
            [null, 200, null, "a-client"]
          ]
        )
        assert.notInclude(JSON.stringify(logged), dwelling.type)
      })
    )
  )
})
