import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Cause, Context, Deferred, Effect, Fiber, Layer, Logger, Redacted, References, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { key_bytes, SealKeys } from "../../src/access/Seal.ts"
import type { CarrierAdapter, ConnectionFields } from "../../src/carriers/Carrier.ts"
import { Connections } from "../../src/carriers/Connections.ts"
import { ready } from "../../src/layer.ts"
import * as Change from "../../src/storage/Change.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { OrganizationId } from "../../src/wire/Ids.ts"
import { type Character, carriers, offer, offers, polled, prompt, unavailable } from "../quoting/carriers.ts"
import {
  beginning,
  type InWorld,
  live,
  outcomes,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  runDue,
  start,
  testInWorld,
  work
} from "../quoting/support.ts"

const fields: ConnectionFields = { producer_code: "string", api_key: "secret" }
const given = { producer_code: "PROD-4711", api_key: "Zq7xSecretZq7x" }
const carrier_id = "naic:12345"

/** A carrier that asks for a producer code and a key. */
const appointing = (rest: Partial<CarrierAdapter> = {}, character: Character = {}) =>
  prompt(carrier_id, offers(), { ...character, rest: { connection: fields, ...rest } })

const none = OrganizationId.make(`org_${"0".repeat(26)}`)

/** The connection of the world's organization to the carrier, in live. */
const place = Effect.map(World, ({ organization }) => ({
  organization_id: organization.id,
  environment: "live" as const,
  carrier_id
}))

const set = (values: unknown, changes: object = {}) =>
  Effect.flatMap(place, (place) =>
    Effect.flatMap(Connections, (connections) => connections.set({ ...place, values, ...changes }))
  )
const remove = Effect.flatMap(place, (place) => Effect.flatMap(Connections, ({ remove }) => remove(place)))
const test = Effect.flatMap(place, (place) => Effect.flatMap(Connections, ({ test }) => test(place)))
const list = Effect.flatMap(place, ({ organization_id }) =>
  Effect.flatMap(Connections, ({ list }) => list(organization_id))
)

/** Starts a live request, lets its carriers answer, and tells what became of them. */
const ask = Effect.gen(function* () {
  const { id } = yield* start({}, live)
  yield* pass(10)
  const { quote_request } = yield* read(id, live)
  return quote_request.carriers.map(({ outcome, reason }) => (reason === null ? outcome : `${outcome} ${reason}`))
})

/** Runs a body, and gives back everything that it logs. */
const logOf = (body: InWorld<unknown>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, fiber, message }) => {
    const annotations = JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))
    lines.push(`${String(message)} ${Cause.pretty(cause)} ${annotations}`)
  })
  return Effect.as(Effect.provideService(body, References.CurrentLoggers, new Set([logger])), lines)
}

describe("an ask", () => {
  {
    const carrier = appointing()
    testInWorld(
      "carries what the organization has given for the carrier",
      Effect.gen(function* () {
        yield* work
        yield* set(given)
        assert.deepStrictEqual(yield* ask, ["quoted"])
        assert.deepStrictEqual(
          carrier.asks.map(({ ask }) => ask.connection),
          [given]
        )
      }),
      carriers(carrier)
    )
  }

  {
    const carrier = appointing({}, { needs: ["applicant.first_name"] })
    const open = prompt("open")
    testInWorld(
      "is not made for an organization without a connection, whatever facts it has",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request } = yield* read(id, live)
        assert.deepInclude(quote_request.carriers[0], {
          outcome: "not_asked",
          reason: "not_appointed",
          missing_facts: [],
          asked_at: null
        })
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready")
        assert.lengthOf(carrier.asks, 0)
        assert.isFalse("connection" in (open.asks[0]?.ask ?? {}))
      }),
      carriers(carrier, open)
    )
  }

  {
    const carrier = appointing()
    testInWorld(
      "uses the connection of its own organization and environment only",
      Effect.gen(function* () {
        yield* work
        yield* set(given, { environment: "sandbox" })
        assert.deepStrictEqual(yield* ask, ["not_asked not_appointed"])
        yield* set({ ...given, producer_code: "LIVE" })
        assert.deepStrictEqual(yield* ask, ["quoted"])
        yield* start()
        yield* pass(1_010)
        assert.deepStrictEqual(
          carrier.asks.map(({ ask }) => ask.connection?.producer_code),
          ["LIVE", "PROD-4711"]
        )
      }),
      carriers(carrier)
    )
  }

  {
    const carrier = prompt(carrier_id, unavailable("carrier_error"), { rest: { connection: fields } })
    testInWorld(
      "is not repeated when the connection was removed",
      Effect.gen(function* () {
        yield* work
        yield* set(given)
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* remove
        yield* pass(2_000)
        assert.lengthOf(carrier.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), [`${carrier_id} no_answer timeout`])
      }),
      carriers(carrier)
    )
  }

  {
    const carrier = polled(carrier_id, 1)
    const adapter = { ...carrier.adapter, connection: fields }
    testInWorld(
      "that was accepted is polled again when the connection is back",
      Effect.gen(function* () {
        yield* work
        yield* set(given)
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* remove
        yield* pass(5_000)
        assert.lengthOf(carrier.polls, 0)
        yield* set(given)
        yield* pass(10_000)
        assert.lengthOf(carrier.polls, 1)
        assert.deepStrictEqual(yield* outcomes(id), [`${carrier_id} quoted`])
      }),
      { carriers: [adapter] }
    )
  }

  {
    let refreshed = 0
    const carrier = prompt(carrier_id, offers(offer({ refresh_after_ms: 60_000 })), {
      rest: {
        connection: fields,
        refresh: () =>
          Effect.sync(() => {
            refreshed += 1
            return { kind: "withdrawn" as const }
          })
      }
    })
    testInWorld(
      "for a fresh price is not made without the connection",
      Effect.gen(function* () {
        yield* work
        yield* set(given)
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* remove
        yield* pass(61_000)
        assert.strictEqual(refreshed, 0)
        assert.deepStrictEqual(yield* outcomes(id), [`${carrier_id} quoted`])
      }),
      carriers(carrier)
    )
  }
})

describe("setting a connection", () => {
  const carrier = appointing({ environments: ["live"] })
  const open = prompt("open")
  testInWorld(
    "names every wrong field, and never repeats a value",
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
        { path: "carrier_id", message: "There is no such carrier.", allowed_values: [carrier_id] }
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
        carrier_id,
        state: "usable",
        values: { producer_code: "PROD-4711", api_key: null },
        set_at: beginning,
        last_test: null
      }
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
  const tested: Array<unknown> = []
  const trying = (
    testConnection: NonNullable<CarrierAdapter["testConnection"]>,
    name: string,
    body: InWorld<unknown>
  ) => testInWorld(name, Effect.andThen(set(given), body), carriers(appointing({ testConnection })))

  trying(
    (values, environment) => Effect.sync(() => void tested.push(values, environment)).pipe(Effect.as({ ok: true })),
    "gives the carrier the values, and keeps the result until others are set",
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* test, { outcome: "ok", message: null })
      assert.deepStrictEqual(tested, [given, "live"])
      assert.deepInclude((yield* list)[0], { last_test: { at: beginning, outcome: "ok", message: null } })
      yield* set(given)
      assert.deepInclude((yield* list)[0], { last_test: null })
    })
  )

  trying(
    () => Effect.succeed({ ok: false, message: "Unknown\nproducer." }),
    "tells why the carrier refused it",
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* test, { outcome: "failed", message: "Unknown producer." })
      assert.strictEqual((yield* list)[0]?.last_test?.message, "Unknown producer.")
    })
  )

  trying(
    ({ api_key }) => Effect.succeed({ ok: false, message: `The key ${api_key} is unknown.` }),
    "leaves a message out that repeats a secret",
    Effect.gen(function* () {
      const { message, outcome } = yield* test
      assert.strictEqual(outcome, "failed")
      assert.match(String(message), /left out/)
      assert.notInclude(JSON.stringify(yield* list), given.api_key)
    })
  )

  trying(
    () => Effect.never,
    "ends after 15 seconds",
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
    "logs the cause and place of an adapter's fault, without values",
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
    // What a program without types may answer.
    () => Effect.succeed(JSON.parse('"Zq7xSecretZq7x"')),
    "logs what is wrong with an answer that is none",
    Effect.gen(function* () {
      const lines = yield* logOf(Effect.map(test, ({ outcome }) => assert.strictEqual(outcome, "failed")))
      assert.lengthOf(lines, 1)
      assert.match(String(lines[0]), /breaks rules/)
      assert.notInclude(String(lines[0]), given.api_key)
    })
  )

  testInWorld(
    "says when a carrier cannot be tried, and changes nothing",
    Effect.gen(function* () {
      yield* set(given)
      const { message, outcome } = yield* test
      assert.strictEqual(outcome, "not_tested")
      assert.match(String(message), /no way to try/)
      assert.isNull((yield* list)[0]?.last_test)
    }),
    carriers(appointing())
  )

  {
    const asked = Deferred.makeUnsafe<void>()
    const answer = Deferred.makeUnsafe<void>()
    trying(
      () => Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(answer)), Effect.as({ ok: true })),
      "keeps no result for values that were replaced meanwhile",
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
  }
})

/** A storage that keeps the texts that it is given, as a database does, and notes them. */
const writing = (storage: Storage["Service"], texts: Array<string> = []): Storage["Service"] => ({
  ...storage,
  commit: (change) => {
    const writes = change.writes.map((record) => Change.record({ ...record, body: record.body }))
    texts.push(...writes.map((write) => JSON.stringify(write)))
    return storage.commit({ ...change, writes })
  }
})

const sealKeys = (...[newest, ...older]: readonly [number, ...ReadonlyArray<number>]) => {
  const keyOf = (byte: number) => Redacted.make(new Uint8Array(key_bytes).fill(byte))
  return Layer.succeed(SealKeys, { keys: [keyOf(newest), ...older.map(keyOf)] })
}

/** A host on a storage that outlives it. */
const hostOn = (storage: Storage["Service"], adapter: CarrierAdapter, keys = sealKeys(1)) =>
  Layer.build(
    World.layer(Layer.succeed(Storage, storage), {
      carriers: [adapter],
      seal_keys: keys,
      cryptography: NodeCrypto.layer
    })
  )

/** A test with a storage that outlives its hosts. */
const onStorage = (
  name: string,
  body: (storage: Storage["Service"], texts: ReadonlyArray<string>) => Effect.Effect<unknown, unknown, Scope.Scope>
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const texts: Array<string> = []
      yield* body(writing(yield* Storage, texts), texts)
    }).pipe(Effect.scoped, Effect.provide(MemoryStorage.layer))
  )

describe("a stored connection", () => {
  onStorage("holds no value in the clear, not even as part of a request", (storage, texts) =>
    Effect.gen(function* () {
      const testConnection = () => Effect.succeed({ ok: false, message: "No such producer: PROD." } as const)
      const host = yield* hostOn(storage, appointing({ testConnection }).adapter)
      yield* Effect.provideContext(
        Effect.gen(function* () {
          yield* set(given)
          yield* test
          const { id } = yield* start({}, live)
          yield* runDue
          assert.deepStrictEqual(yield* outcomes(id), [`${carrier_id} quoted`])
          yield* remove
        }),
        host
      )
      const stored = texts.join("\n")
      assert.include(stored, '"kind":"connection"')
      for (const value of [...Object.values(given), "producer_code", "No such producer"]) {
        assert.notInclude(stored, value)
      }
    })
  )

  onStorage("reaches the other hosts within a second, and so does its removal", (storage) =>
    Effect.gen(function* () {
      const here = yield* hostOn(storage, appointing().adapter)
      const elsewhere = yield* hostOn(storage, appointing().adapter)
      const { organization } = Context.get(here, World)
      const used = Connections.use(({ of }) => of(organization.workspaces.live, carrier_id))
      const pair = Effect.all([Effect.provideContext(used, here), Effect.provideContext(used, elsewhere)])
      assert.deepStrictEqual(yield* pair, [null, null])
      yield* Effect.provideContext(set(given), here)
      assert.deepStrictEqual(yield* pair, [given, null])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* pair, [given, given])
      yield* Effect.provideContext(remove, here)
      assert.deepStrictEqual(yield* pair, [null, given])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* pair, [null, null])
    })
  )

  onStorage("is not used if a field is missing that the carrier asks for by now", (storage) =>
    Effect.gen(function* () {
      const before = yield* hostOn(storage, appointing().adapter)
      const more = { ...fields, login: "string" } as const
      const after = yield* hostOn(storage, appointing({ connection: more }).adapter)
      const { organization } = Context.get(before, World)
      yield* Effect.provideContext(set(given), before)
      const seen = yield* Effect.provideContext(
        Effect.gen(function* () {
          const { list, of } = yield* Connections
          const used = yield* of(organization.workspaces.live, carrier_id)
          return { used, states: (yield* list(organization.id)).map(({ state }) => state) }
        }),
        after
      )
      assert.deepStrictEqual(seen, { used: null, states: ["incomplete"] })
    })
  )
})

describe("a connection whose seal key is gone", () => {
  onStorage("is logged once, and its carrier is not asked until it is set again", (storage) =>
    Effect.gen(function* () {
      const first = yield* hostOn(storage, appointing().adapter, sealKeys(1))
      yield* Effect.provideContext(set(given), first)
      // A rotation, after which the older key is dropped.
      yield* hostOn(storage, appointing().adapter, sealKeys(2, 1))
      const carrier = appointing()
      const last = yield* hostOn(storage, carrier.adapter, sealKeys(2))
      const { organization, keys } = Context.get(first, World)
      const place = { organization_id: organization.id, environment: "live", carrier_id } as const
      const asked = Effect.gen(function* () {
        const { id } = yield* start({}, { key: keys.live.server })
        yield* runDue
        const { quote_request } = yield* read(id, { key: keys.live.server })
        return quote_request.carriers.map(({ outcome, reason }) => [outcome, reason])
      })
      const lines = yield* logOf(
        Effect.gen(function* () {
          for (let n = 0; n < 3; n++) {
            assert.deepStrictEqual(yield* asked, [["not_asked", "not_appointed"]])
            yield* TestClock.adjust(1_000)
          }
        })
      ).pipe(Effect.provideContext(last))
      assert.lengthOf(lines, 1, lines.join())
      assert.match(String(lines[0]), new RegExp(`seal keys[\\s\\S]*${organization.id} live ${carrier_id}`))
      yield* Effect.provideContext(
        Effect.gen(function* () {
          const connections = yield* Connections
          assert.match(String(yield* ready), /sealed with a key/)
          assert.deepStrictEqual(
            (yield* connections.list(organization.id)).map(({ carrier_id, state, values }) => [
              carrier_id,
              state,
              values
            ]),
            [[carrier_id, "unreadable", {}]]
          )
          assert.strictEqual((yield* connections.test(place)).outcome, "failed")
          yield* connections.set({ ...place, values: given })
          assert.deepStrictEqual(yield* asked, [["quoted", null]])
          assert.lengthOf(carrier.asks, 1)
        }),
        last
      )
    })
  )
})
