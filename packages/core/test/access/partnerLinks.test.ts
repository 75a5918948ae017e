import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import { noLimits } from "../../src/access/limits/Limits.ts"
import type { Operation } from "../../src/calls/Operation.ts"
import { type OperationServices, operations } from "../../src/operations.ts"
import type { OperatorOperation } from "../../src/operators/OperatorOperation.ts"
import { type OperatorOperationServices, operatorOperations } from "../../src/operators/operatorOperations.ts"
import { createLink } from "../../src/operators/SharingOperations.ts"
import { createPartnerLink } from "../../src/partners/PartnerLinkOperations.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import { callWith, tokenOf } from "../operators/support.ts"
import { advance, events, pass, read, refusal, smallest, start, stranger, testInWorld } from "../support/world.ts"
import { create, deliveries, endpoints } from "../webhooks/support.ts"
import { everyInput } from "./everyInput.ts"

const share = (input: object, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(createPartnerLink, input, options))

const by = (token: string): CallOptions => ({ key: token })

/** A subscription, two requests with quotes, and a link to the first request and to the subscription. */
const shared = Effect.gen(function* () {
  const { id: subscription } = yield* create()
  const { id } = yield* start()
  const { id: other } = yield* start()
  yield* advance(60)
  const event = (yield* deliveries(subscription)).deliveries[0]?.event_id ?? assert.fail("no delivery")
  const quote = (yield* read(id)).quotes[0]?.id ?? assert.fail("no quote")
  const { token: ofRequest } = yield* share({ shared_id: id })
  const { token: ofSubscription } = yield* share({ shared_id: subscription })
  return { subscription, id, other, event, quote, ofRequest, ofSubscription }
})

/** How every operation responds to a link, with inputs that name these resources. */
const verdicts = Effect.fnUntraced(function* (token: string, named: Readonly<Record<string, string>>) {
  const { call } = yield* World
  const all: ReadonlyArray<Operation<string, unknown, unknown, OperationServices>> = operations
  const inputs = new Map<string, object>(Object.entries({ ...everyInput, list_events: { quote_request_id: "{id}" } }))
  const row: Record<string, string> = {}
  for (const operation of all) {
    const input = Object.entries(named).reduce(
      (text, [name, value]) => text.replace(`{${name}}`, value),
      JSON.stringify(inputs.get(operation.name))
    )
    row[operation.name] = yield* call(operation, JSON.parse(input), { key: token }).pipe(
      Effect.as("yes"),
      Effect.catch((error) => Effect.succeed(error._tag))
    )
  }
  return row
})

const readsOfRequest = ["get_quote_request", "list_events"]
const readsOfSubscription = ["get_event_subscription_health", "list_event_deliveries", "get_event_delivery"]

const table = (of: (name: string) => string) => Object.fromEntries(operations.map(({ name }) => [name, of(name)]))

const webhooks = endpoints().layer

describe("a partner link", () => {
  testInWorld(
    "can open one request and its events, and nothing else",
    Effect.gen(function* () {
      const { event, id, ofRequest, other, quote, subscription } = yield* shared
      const named = { quote, subscription, event, other: subscription }
      const expected = (own: string) =>
        table((name) => {
          if (readsOfRequest.includes(name)) return own
          return readsOfSubscription.includes(name) ? "not_found" : "forbidden"
        })
      assert.deepStrictEqual(yield* verdicts(ofRequest, { ...named, id }), expected("yes"))
      assert.deepStrictEqual(yield* verdicts(ofRequest, { ...named, id: other }), expected("not_found"))
    }),
    { webhooks }
  )

  testInWorld(
    "can open one subscription's health, deliveries and attempts, and nothing else",
    Effect.gen(function* () {
      const { event, id, ofSubscription, quote, subscription } = yield* shared
      const { id: another } = yield* create({ url: "https://hooks.acme.dev/other" })
      const named = { quote, id, event, other: subscription }
      const expected = (own: string) =>
        table((name) => {
          if (readsOfSubscription.includes(name)) return own
          return readsOfRequest.includes(name) ? "not_found" : "forbidden"
        })
      assert.deepStrictEqual(yield* verdicts(ofSubscription, { ...named, subscription }), expected("yes"))
      assert.deepStrictEqual(
        yield* verdicts(ofSubscription, { ...named, subscription: another }),
        expected("not_found")
      )
    }),
    { webhooks }
  )

  testInWorld(
    "does not work in the operators' API",
    Effect.gen(function* () {
      const { id } = yield* start()
      const { token } = yield* share({ shared_id: id })
      const all: ReadonlyArray<OperatorOperation<string, unknown, OperatorOperationServices>> = operatorOperations
      for (const operation of all) {
        assert.strictEqual((yield* refusal(callWith(token, operation)))._tag, "authentication_failed")
      }
    })
  )

  testInWorld(
    "has a rate limit per address, so that its readers cannot use up the organization's limits",
    Effect.gen(function* () {
      const { id } = yield* start()
      const { token } = yield* share({ shared_id: id })
      for (let reads = 0; reads < 2; reads++) yield* read(id, by(token))
      assert.strictEqual((yield* refusal(read(id, by(token))))._tag, "rate_limited")
      yield* read(id)
    }),
    { limits: { ...noLimits, keyless: { ...noLimits.keyless, read: { per_minute: 2, per_day: null } } } }
  )

  testInWorld(
    "opens the feed only with a filter for the link's request",
    Effect.gen(function* () {
      const { id, ofRequest } = yield* shared
      assert.strictEqual((yield* refusal(events({}, by(ofRequest))))._tag, "not_found")
      const own = yield* events({ quote_request_id: id }, by(ofRequest))
      assert.deepStrictEqual(own.events, (yield* events({ quote_request_id: id })).events)
    }),
    { webhooks }
  )

  testInWorld(
    "hides facts, the carriers' text and the links to carriers",
    Effect.gen(function* () {
      const { id, ofRequest } = yield* shared
      const whole = yield* read(id)
      const seen = yield* read(id, by(ofRequest))
      assert.deepStrictEqual(
        seen.quotes.map((quote) => [quote.id, quote.price]),
        whole.quotes.map((quote) => [quote.id, quote.price])
      )
      const text = JSON.stringify(seen)
      assert.include(JSON.stringify(whole), "/go/")
      assert.notInclude(text, "/go/")
      assert.notInclude(text, smallest.renters.dwelling.address.zip)
      for (const { coverage, evidence, next_actions } of seen.quotes) {
        assert.deepStrictEqual([coverage.conditions, evidence.assumptions, next_actions], [[], [], []])
        assert.strictEqual(evidence.label, "")
      }
      assert.deepStrictEqual(
        seen.quote_request.carriers.map(({ message }) => message),
        seen.quote_request.carriers.map(() => null)
      )
    }),
    { webhooks }
  )

  testInWorld(
    "expires in real time, whatever the sandbox's clock says",
    Effect.gen(function* () {
      const { id } = yield* start()
      const { expires_at, token } = yield* share({ shared_id: id, expires_in_days: 1 })
      assert.strictEqual(expires_at, "2026-11-21T12:00:00.000Z")
      yield* advance(2 * 86_400)
      yield* read(id, by(token))
      yield* pass(86_399_000)
      yield* read(id, by(token))
      yield* pass(1_000)
      assert.strictEqual((yield* refusal(read(id, by(token))))._tag, "authentication_failed")
    })
  )

  testInWorld(
    "can be created only for 1 to 30 days, and only for data in the caller's workspace",
    Effect.gen(function* () {
      const { id } = yield* start()
      const { sandbox } = yield* stranger
      for (const expires_in_days of [0, 31, 1.5]) {
        assert.strictEqual((yield* refusal(share({ shared_id: id, expires_in_days })))._tag, "invalid_input")
      }
      assert.strictEqual((yield* refusal(share({ shared_id: id }, { key: sandbox })))._tag, "not_found")
      const { id: subscription } = yield* create()
      assert.strictEqual((yield* refusal(share({ shared_id: subscription }, { key: sandbox })))._tag, "not_found")
      assert.strictEqual((yield* refusal(share({ shared_id: subscription }, { as: "platform" })))._tag, "forbidden")
    }),
    { webhooks }
  )

  testInWorld(
    "stops working if any of its characters is changed",
    Effect.gen(function* () {
      const { id } = yield* start()
      const { token } = yield* share({ shared_id: id })
      for (let at = 0; at < token.length; at++) {
        const changed = `${token.slice(0, at)}${token[at] === "0" ? "1" : "0"}${token.slice(at + 1)}`
        assert.strictEqual((yield* refusal(read(id, by(changed))))._tag, "authentication_failed")
      }
      for (const changed of [token.slice(0, -1), `${token}0`, `${token}.`, `${token}.0`, "link_"]) {
        assert.strictEqual((yield* refusal(read(id, by(changed))))._tag, "authentication_failed")
      }
    })
  )

  testInWorld(
    "expires immediately when the key that created it is revoked",
    Effect.gen(function* () {
      const access = yield* Access
      const { organization } = yield* World
      const { key, key_id } = yield* access.createKey({
        organization_id: organization.id,
        environment: "sandbox",
        kind: "server"
      })
      const { id } = yield* start()
      const { token } = yield* share({ shared_id: id }, { key })
      yield* read(id, by(token))
      yield* access.revokeKey(key_id)
      assert.strictEqual((yield* refusal(read(id, by(token))))._tag, "authentication_failed")
    })
  )

  testInWorld(
    "can be created by an operator, but only for a resource that the operator may share",
    Effect.gen(function* () {
      const { organization } = yield* World
      const { id } = yield* start()
      const input = { organization_id: organization.id, environment: "sandbox", shared_id: id }
      const { token: desk } = yield* tokenOf()
      const { token } = yield* callWith(desk, createLink, input)
      assert.strictEqual((yield* read(id, by(token))).quote_request.id, id)
      assert.strictEqual(
        (yield* refusal(callWith(desk, createLink, { ...input, environment: "live" })))._tag,
        "not_found"
      )
      const access = yield* Access
      const elsewhere = yield* access.createOrganization("Elsewhere")
      const { token: other } = yield* tokenOf({ organization_id: elsewhere.id })
      assert.strictEqual((yield* refusal(callWith(other, createLink, input)))._tag, "not_found")
      const { token: reader } = yield* tokenOf({ scopes: ["read"] })
      assert.strictEqual((yield* refusal(callWith(reader, createLink, input)))._tag, "forbidden")
    })
  )
})
