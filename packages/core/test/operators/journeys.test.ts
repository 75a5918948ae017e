import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import { Consumers } from "../../src/consuming/Consumers.ts"
import { listAuditLog } from "../../src/operators/AuditOperations.ts"
import {
  getCarrierStatus,
  listConnections,
  removeConnection,
  resetCarrier,
  setConnection,
  testConnection
} from "../../src/operators/CarrierOperations.ts"
import {
  dropParkedEvent,
  listConsumers,
  listParkedEvents,
  retryParkedEvent
} from "../../src/operators/ConsumerOperations.ts"
import { eraseQuoteRequest, eraseReceipt } from "../../src/operators/ErasureOperations.ts"
import { revokeKey } from "../../src/operators/OrganizationOperations.ts"
import { getTimeline } from "../../src/operators/QuoteRequestOperations.ts"
import { getWork } from "../../src/operators/WorkOperations.ts"
import { World } from "../../src/testing/World.ts"
import { appointing, carrierId, given } from "../carriers/support.ts"
import { carrier, carriers, offers, prompt, unavailable } from "../quoting/carriers.ts"
import { list, live, pass, pathsOf, refusal, start, testInWorld, work } from "../support/world.ts"
import { callWith, tokenOf } from "./support.ts"

/** A token for an organization other than the world's. */
const stranger = Effect.gen(function* () {
  const { id } = yield* Access.use((access) => access.createOrganization("A stranger"))
  return yield* tokenOf({ name: "stranger", organization_id: id })
})

describe("an operator", () => {
  testInWorld(
    "can set, test and remove connections, without a secret in any response or log",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const { organization } = yield* World
      const place = { organization_id: organization.id, environment: "live", carrier_id: carrierId }
      const said: Array<unknown> = []
      said.push(yield* callWith(token, setConnection, { ...place, values: given }))
      said.push(yield* callWith(token, testConnection, place))
      const { connections } = yield* callWith(token, listConnections, { organization_id: organization.id })
      assert.deepStrictEqual(
        connections.map(({ state, values }) => [state, values]),
        [["usable", { producer_code: given.producer_code, api_key: null }]]
      )
      const wrong = yield* refusal(callWith(token, setConnection, { ...place, values: { producer_code: "1" } }))
      assert.deepStrictEqual(pathsOf(wrong), ["values.api_key"])
      said.push(yield* callWith(token, removeConnection, place))
      assert.strictEqual((yield* refusal(callWith(token, testConnection, place)))._tag, "not_found")
      said.push(connections, yield* callWith(token, listAuditLog, { limit: 100 }))
      assert.notInclude(JSON.stringify(said), given.api_key)
    }),
    carriers(appointing({ environments: ["live"] }))
  )

  testInWorld(
    "can see and close an open circuit",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      yield* work
      for (let i = 0; i < 20; i++) {
        yield* start({}, live)
        yield* pass(10)
      }
      const circuitsOf = ({ carriers: all }: { readonly carriers: ReadonlyArray<{ readonly circuit: string }> }) =>
        all.filter(({ circuit }) => circuit !== "closed").length
      assert.strictEqual(circuitsOf(yield* callWith(token, getCarrierStatus)), 1)
      const closed = yield* callWith(token, resetCarrier, { carrier_id: "ailing" })
      assert.deepStrictEqual(
        closed.carriers.map(({ carrier_id, circuit }) => [carrier_id, circuit]),
        [["ailing", "closed"]]
      )
      assert.strictEqual(circuitsOf(yield* callWith(token, getCarrierStatus)), 0)
      const unknown = yield* refusal(callWith(token, resetCarrier, { carrier_id: "none" }))
      assert.deepStrictEqual(pathsOf(unknown), ["carrier_id"])
    }),
    carriers(
      carrier("ailing", () => Effect.succeed(unavailable("carrier_error")), { idempotent: false }),
      prompt("well", offers())
    )
  )

  testInWorld(
    "can retry and drop parked events",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const other = yield* stranger
      const { organization } = yield* World
      const consumers = yield* Consumers
      const { ready } = yield* consumers.consume("billing", () => Effect.die("no"), { max_attempts: 1 })
      yield* ready
      yield* start()
      yield* pass(1_000)
      const listed = yield* callWith(token, listConsumers)
      assert.deepStrictEqual(
        listed.consumers.map(({ name, parked }) => [name, parked]),
        [["billing", 1]]
      )
      const [event] = (yield* callWith(token, listParkedEvents, { name: "billing" })).events
      const place = {
        name: "billing",
        event_id: event?.event_id,
        organization_id: organization.id,
        environment: "sandbox"
      }
      assert.deepStrictEqual((yield* callWith(other.token, listParkedEvents, { name: "billing" })).events, [])
      assert.strictEqual((yield* refusal(callWith(other.token, dropParkedEvent, place)))._tag, "not_found")
      assert.deepStrictEqual(yield* callWith(token, retryParkedEvent, place), {
        event_id: event?.event_id ?? "",
        outcome: "retrying"
      })
      yield* pass(1_000)
      assert.strictEqual((yield* callWith(token, dropParkedEvent, place)).outcome, "dropped")
      assert.strictEqual((yield* refusal(callWith(token, dropParkedEvent, place)))._tag, "not_found")
    })
  )

  testInWorld(
    "can erase a person's data only in the operator's organization, and must name the requester",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const other = yield* stranger
      const { organization } = yield* World
      const { id } = yield* start()
      assert.deepStrictEqual(pathsOf(yield* refusal(callWith(token, eraseQuoteRequest, { id }))), ["by"])
      assert.strictEqual((yield* callWith(token, eraseQuoteRequest, { id, dry_run: true })).to_erase, 1)
      assert.strictEqual((yield* callWith(other.token, eraseQuoteRequest, { id, by: "ticket 1" })).erased, 0)
      assert.strictEqual((yield* callWith(token, eraseQuoteRequest, { id, by: "ticket 1" })).erased, 1)
      const { entries } = yield* callWith(token, getTimeline, { id })
      assert.deepInclude(entries.find(({ what }) => what === "erased")?.details, { by: "ticket 1" })

      const receipt = { organization_id: organization.id, environment: "sandbox", consent_receipt_id: "receipt-0001" }
      assert.strictEqual((yield* callWith(token, eraseReceipt, { ...receipt, by: "ticket 2" })).already_erased, 1)
      assert.strictEqual((yield* refusal(callWith(other.token, eraseReceipt, receipt)))._tag, "not_found")
      assert.notInclude(JSON.stringify(yield* callWith(token, listAuditLog, { limit: 100 })), "receipt-0001")
    })
  )

  testInWorld(
    "can revoke keys only in the operator's organization",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      const other = yield* stranger
      const { organization } = yield* World
      const [key] = yield* Access.use((access) => access.listKeys(organization.id))
      const id = key?.id
      assert.strictEqual((yield* refusal(callWith(other.token, revokeKey, { id })))._tag, "not_found")
      yield* list()
      assert.strictEqual((yield* callWith(token, revokeKey, { id })).id, id)
      const [entry] = (yield* callWith(token, listAuditLog, { operation: "revoke_key", outcome: "succeeded" })).entries
      assert.deepStrictEqual([entry?.resource, entry?.organization_id], [id ?? "", organization.id])
    })
  )

  testInWorld(
    "can see how long each kind of work has waited",
    Effect.gen(function* () {
      const { token } = yield* tokenOf()
      assert.deepInclude(yield* callWith(token, getWork), {
        next_due_at: null,
        waits_ms: 0,
        backlog: [],
        processes: null,
        cells: []
      })
      yield* start({}, live)
      yield* pass(7_000)
      const { backlog, waits_ms } = yield* callWith(token, getWork)
      assert.strictEqual(waits_ms, 7_000)
      assert.deepStrictEqual(backlog, [{ kind: "collect", due: 1, oldest_due_at: "2026-11-20T12:00:00.000Z" }])
    })
  )
})
