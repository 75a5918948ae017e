import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import type { CarrierAdapter } from "../../src/carriers/Carrier.ts"
import { Connections } from "../../src/carriers/Connections.ts"
import { OrganizationId } from "../../src/wire/Ids.ts"
import { carriers, prompt } from "../quoting/carriers.ts"
import { beginning, type InWorld, pass, pathsOf, reset, testInWorld } from "../support/world.ts"
import { appointing, carrierId, given, list, logOf, place, refusal, remove, set, test } from "./support.ts"

const none = OrganizationId.make(`org_${"0".repeat(26)}`)

describe("setting a connection", () => {
  const carrier = appointing({ environments: ["live"] })
  const open = prompt("open")
  testInWorld(
    "fails with an error that names every invalid field and repeats no value",
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [unknown, object, ReadonlyArray<string>]> = [
        [{}, {}, ["values.producer_code", "values.api_key"]],
        [undefined, {}, ["values.producer_code", "values.api_key"]],
        ["Zq7xSecretZq7x", {}, ["values"]],
        [["Zq7xSecretZq7x"], {}, ["values"]],
        [{ producer_code: "1", api_key: 4711 }, {}, ["values.api_key"]],
        [{ producer_code: "1", api_key: "" }, {}, ["values.api_key"]],
        [{ producer_code: "1", api_key: "Zq7xSecretZq7x".repeat(1_000) }, {}, ["values.api_key"]],
        [{ producer_code: "1", api_key: "Zq7xSecretZq7x\0" }, {}, ["values.api_key"]],
        [{ ...given, Zq7xSecretZq7x: "1" }, {}, ["values"]],
        [{ producer_code: "1", Zq7xSecretZq7x: "1" }, {}, ["values.api_key", "values"]],
        [given, { carrier_id: "Zq7xSecretZq7x" }, ["carrier_id"]],
        [given, { carrier_id: "open" }, ["carrier_id"]],
        [given, { environment: "sandbox" }, ["environment"]]
      ]
      for (const [values, changes, paths] of wrong) {
        const error = yield* refusal(set(values, changes))
        assert.deepStrictEqual([error.code, ...pathsOf(error)], ["invalid_input", ...paths])
        assert.notMatch(JSON.stringify([error.message, error.field_errors]), /Zq7x|4711/)
      }
      assert.deepStrictEqual((yield* refusal(set(given, { carrier_id: "other" }))).field_errors, [
        {
          path: "carrier_id",
          message: "Must be the id of one of this program's carriers.",
          allowed_values: [carrierId]
        }
      ])
      assert.strictEqual((yield* refusal(set(given, { organization_id: none }))).code, "not_found")
      assert.deepStrictEqual(yield* list, [])
    }),
    carriers(carrier, open)
  )
})

describe("a connection", () => {
  testInWorld(
    "is listed without its secrets, until it is removed",
    Effect.gen(function* () {
      const connections = yield* Connections
      const { organization_id } = yield* place
      const summary = {
        organization_id,
        environment: "live",
        carrier_id: carrierId,
        state: "usable",
        values: { producer_code: "PROD-4711", api_key: null },
        set_at: beginning,
        last_test: null
      } as const
      assert.deepStrictEqual(yield* set(given), summary)
      assert.deepStrictEqual(yield* list, [summary])
      yield* set({ ...given, producer_code: "PROD-2" })
      assert.deepStrictEqual(
        (yield* list).map(({ values }) => values.producer_code),
        ["PROD-2"]
      )
      yield* remove
      assert.deepStrictEqual(yield* list, [])
      for (const gone of [remove, test]) assert.strictEqual((yield* refusal(gone)).code, "not_found")
      assert.strictEqual((yield* refusal(connections.list(none))).code, "not_found")
      yield* set(given)
      assert.lengthOf(yield* list, 1)
    }),
    carriers(appointing())
  )

  testInWorld(
    "survives a reset of the sandbox",
    Effect.gen(function* () {
      yield* set(given, { environment: "sandbox" })
      yield* reset()
      assert.deepStrictEqual(
        (yield* list).map(({ state }) => state),
        ["usable"]
      )
    }),
    carriers(appointing())
  )
})

describe("testing a connection", () => {
  const trying = (
    testConnection: NonNullable<CarrierAdapter["testConnection"]>,
    name: string,
    body: InWorld<unknown>
  ) => testInWorld(name, Effect.andThen(set(given), body), carriers(appointing({ testConnection })))

  testInWorld("passes the values to the carrier, and keeps the result until the connection is set again", () => {
    const tested: Array<unknown> = []
    const testConnection = (values: unknown, environment: unknown) =>
      Effect.sync(() => void tested.push(values, environment)).pipe(Effect.as({ ok: true as const }))
    return {
      ...carriers(appointing({ testConnection })),
      body: Effect.gen(function* () {
        yield* set(given)
        assert.deepStrictEqual(yield* test, { outcome: "ok", message: null })
        assert.deepStrictEqual(tested, [given, "live"])
        assert.deepInclude((yield* list)[0], { last_test: { at: beginning, outcome: "ok", message: null } })
        yield* set(given)
        assert.deepInclude((yield* list)[0], { last_test: null })
      })
    }
  })

  trying(
    () => Effect.succeed({ ok: false, message: "Unknown\nproducer." }),
    "reports why the carrier refused the connection",
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* test, { outcome: "failed", message: "Unknown producer." })
      assert.strictEqual((yield* list)[0]?.last_test?.message, "Unknown producer.")
    })
  )

  trying(
    ({ api_key }) => Effect.succeed({ ok: false, message: `The key ${api_key} is unknown.` }),
    "omits a message that repeats a secret",
    Effect.gen(function* () {
      const { message, outcome } = yield* test
      assert.strictEqual(outcome, "failed")
      assert.match(String(message), /is omitted/)
      assert.notInclude(JSON.stringify(yield* list), given.api_key)
    })
  )

  trying(
    () => Effect.never,
    "times out after 15 seconds",
    Effect.gen(function* () {
      const testing = yield* Effect.forkChild(test)
      yield* pass(15_000)
      assert.match(String((yield* Fiber.join(testing)).message), /did not answer/)
    })
  )

  trying(
    ({ api_key }) => {
      throw new TypeError(`no host for ${api_key}`)
    },
    "logs the cause and location of an adapter's fault, without values",
    Effect.gen(function* () {
      const lines = yield* logOf(
        Effect.map(test, (result) => {
          assert.strictEqual(result.outcome, "failed")
          assert.match(String(result.message), /log/)
        })
      )
      assert.lengthOf(lines, 1)
      assert.match(String(lines[0]), /TypeError[\s\S]*connections\.test\.ts:\d+[\s\S]*naic:12345/)
      assert.notInclude(String(lines[0]), given.api_key)
    })
  )

  trying(
    // What an untyped program may answer.
    () => Effect.succeed(JSON.parse('"Zq7xSecretZq7x"')),
    "logs what is wrong with an invalid answer",
    Effect.gen(function* () {
      const lines = yield* logOf(Effect.map(test, ({ outcome }) => assert.strictEqual(outcome, "failed")))
      assert.lengthOf(lines, 1)
      assert.match(String(lines[0]), /breaks the rules/)
      assert.notInclude(String(lines[0]), given.api_key)
    })
  )

  testInWorld(
    "reports if the carrier does not support tests",
    Effect.gen(function* () {
      yield* set(given)
      const { message, outcome } = yield* test
      assert.strictEqual(outcome, "not_tested")
      assert.match(String(message), /cannot be tested/)
      assert.isNull((yield* list)[0]?.last_test)
    }),
    carriers(appointing())
  )

  const asked = Deferred.makeUnsafe<void>()
  const answer = Deferred.makeUnsafe<void>()
  trying(
    () => Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(answer)), Effect.as({ ok: true })),
    "keeps no result for values that have been replaced in the meantime",
    Effect.gen(function* () {
      const testing = yield* Effect.forkChild(test)
      yield* Deferred.await(asked)
      yield* set({ ...given, producer_code: "OTHER" })
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(testing)
      assert.deepInclude((yield* list)[0], {
        values: { producer_code: "OTHER", api_key: null },
        last_test: null
      })
    })
  )
})
