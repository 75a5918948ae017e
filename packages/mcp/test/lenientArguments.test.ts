import { assert, describe, it } from "@effect/vitest"
import type { ApiError } from "@quotewire/core"
import { Effect } from "effect"
import { Agents, layer, type Sent } from "./support/agents.ts"

const call = (name: string, args: unknown, as: Sent["as"] = "server") =>
  Effect.flatMap(Agents, (agents) => agents.call(name, args, as))

/** The wrong fields of a refusal, each with its message. */
const wrongOf = (result: { readonly structuredContent: ApiError.ErrorEnvelope }): ReadonlyArray<string> =>
  (result.structuredContent.error.field_errors ?? []).map(({ path, message }) => `${path}: ${message}`)

const facts = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
const start = { line: "renters", request_key: "k-1", consent_receipt_id: "receipt-0001", application: facts }
const contact = { receipt_id: "receipt-0002", channels: ["email"] }

describe("null in a tool's arguments", () => {
  it.effect("counts as an omitted optional argument", () =>
    Effect.gen(function* () {
      const nothing = { limit: null, cursor: null, status: null, line: null, created_after: null }
      assert.isFalse((yield* call("list_quote_requests", nothing)).isError)
      const started = yield* call("start_quote_request", {
        ...start,
        credit_disclosure_receipt_id: null,
        contact_consent: null,
        contact_channels: null,
        quote_disclosure_version: null,
        quote_disclosure_accepted: null,
        scenario: null
      })
      assert.isFalse(started.isError, JSON.stringify(started))
      const { id } = started.structuredContent
      const read = { id, wait_seconds: 0, since_version: null, read_handle: null }
      assert.strictEqual((yield* call("get_quote_request", read)).structuredContent.quote_request.id, id)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("counts as an omitted fact, at any depth", () =>
    Effect.gen(function* () {
      const application = {
        applicant: { first_name: null, email: null },
        dwelling: { ...facts.dwelling, address: { ...facts.dwelling.address, line1: null } },
        effective_date: null
      }
      const contact_channels = { email: true, sms: null }
      const sent = { ...start, application, contact_consent: contact, contact_channels }
      assert.isFalse((yield* call("start_quote_request", sent)).isError)
      const { content, structuredContent } = yield* call("start_quote_request", {
        ...start,
        request_key: "k-2",
        application: { dwelling: { ...facts.dwelling, type: null } }
      })
      assert.strictEqual(structuredContent.error.code, "needs_information")
      assert.include(content[0].text, "application.dwelling.type")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused for a required argument and for an unknown argument", () =>
    Effect.gen(function* () {
      const refused = yield* call("get_quote_request", { id: null, text: null })
      assert.sameMembers([...wrongOf(refused)], ["id: This field is required.", "text: This field is not known."])
      const unkeyed = yield* call("send_test_event", { subscription_id: "sub_x", request_key: null })
      assert.deepStrictEqual(
        wrongOf(unkeyed).map((line) => line.split(":")[0]),
        ["request_key"]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("never counts as consent", () =>
    Effect.gen(function* () {
      const keyless = { line: "renters", request_key: "0b6d7f6e-3c1f-4f0e-9a53-0a8f0f6f2a11", application: facts }
      for (const quote_disclosure_accepted of [null, "true", "false", 1]) {
        const sent = { ...keyless, quote_disclosure_version: "2026-09-26", quote_disclosure_accepted }
        const refused = yield* Effect.flatMap(Agents, (agents) => agents.call("start_quote_request", sent))
        assert.strictEqual(refused.structuredContent.error?.code, "invalid_input")
      }
    }).pipe(Effect.provide(layer()))
  )
})

describe("an object sent as JSON text", () => {
  it.effect("has the same effect as the object itself", () =>
    Effect.gen(function* () {
      const first = yield* call("start_quote_request", {
        ...start,
        application: `\n ${JSON.stringify({ ...facts, effective_date: null }, null, 2)}`,
        contact_consent: JSON.stringify(contact),
        contact_channels: JSON.stringify({ email: true })
      })
      assert.isFalse(first.isError, JSON.stringify(first))
      const same = { ...start, contact_consent: contact, contact_channels: { email: true } }
      const second = yield* call("start_quote_request", same)
      assert.strictEqual(second.structuredContent.id, first.structuredContent.id)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused without being repeated if the text is malformed or too long", () =>
    Effect.gen(function* () {
      const long = JSON.stringify({ ...facts, padding: "secret".repeat(11_000) })
      for (const application of ["secret", "", "[1]", "null", '"{}"', '{"secret":', "{secret}", long]) {
        const refused = yield* call("start_quote_request", { ...start, application })
        assert.deepStrictEqual(wrongOf(refused), ["application: Must be an object."])
        assert.notInclude(JSON.stringify(refused), "secret")
      }
      const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`
      const refused = yield* call("start_quote_request", { ...start, application: deep })
      assert.strictEqual(refused.structuredContent.error.code, "invalid_input")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is not parsed inside the facts", () =>
    Effect.gen(function* () {
      const application = { dwelling: JSON.stringify(facts.dwelling) }
      const refused = yield* call("start_quote_request", { ...start, application })
      assert.deepStrictEqual(wrongOf(refused), ["application.dwelling: Must be an object."])
    }).pipe(Effect.provide(layer()))
  )
})

describe("a whole number sent as text", () => {
  it.effect("is accepted as a number if the number is within bounds", () =>
    Effect.gen(function* () {
      const { id, version } = (yield* call("start_quote_request", start)).structuredContent
      const read = yield* call("get_quote_request", { id, wait_seconds: "0", since_version: `${version}` })
      assert.isFalse(read.isError)
      assert.isFalse((yield* call("list_quote_requests", { limit: "10" })).isError)
      for (const limit of ["0", "101", "1e1", "1.0", " 10", "", "ten", "9".repeat(16)]) {
        assert.deepStrictEqual(
          wrongOf(yield* call("list_quote_requests", { limit })).map((line) => line.split(":")[0]),
          ["limit"],
          limit
        )
      }
    }).pipe(Effect.provide(layer()))
  )
})
