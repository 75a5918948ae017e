import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierAdapter } from "../../src/carriers/Carrier.ts"
import { live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { type Character, carriers, offer, offers, prompt, type ScriptedCarrier } from "./carriers.ts"

/** A carrier whose adapter does what its type forbids. */
const rogue = (id: string, ask: () => unknown, character: Character = {}): ScriptedCarrier => {
  const scripted = prompt(id, offers(), character)
  // What a JavaScript program can pass, although TypeScript would not compile it.
  const adapter: CarrierAdapter = Object.assign({}, scripted.adapter, { ask })
  return { ...scripted, adapter }
}

const garbage: ReadonlyArray<readonly [string, unknown]> = [
  ["nothing", undefined],
  ["null", null],
  ["a string", "offers"],
  ["an empty object", {}],
  ["an unknown kind", { kind: "maybe" }],
  ["offers that are not a list", { kind: "offers", offers: "many" }],
  ["a null offer", { kind: "offers", offers: [null] }],
  ["an offer without some fields", { kind: "offers", offers: [{ offer_ref: "1", premium: { amount_minor: 1 } }] }],
  [
    "a premium that is a string",
    { kind: "offers", offers: [{ ...offer(), premium: { amount_minor: "1", currency: "USD" } }] }
  ],
  ["an expiry that is a Date in the past", { kind: "offers", offers: [{ ...offer(), expires_at: new Date(0) }] }],
  ["a decline without a reason", { kind: "declined" }],
  ["a decline with an unknown reason", { kind: "declined", reason: "full moon" }],
  ["pending without a reference", { kind: "pending", poll_after_ms: 2_000 }],
  ["pending with an endless reference", { kind: "pending", ref: "r".repeat(2_001), poll_after_ms: 2_000 }],
  ["pending with a wait that is not a number", { kind: "pending", ref: "r", poll_after_ms: Number.NaN }],
  ["invalid questions", { kind: "question", questions: [{}] }],
  ["unavailable without a reason", { kind: "unavailable" }],
  ["unavailable with an invalid retry time", { kind: "unavailable", reason: "timeout", retry_after_ms: Number.NaN }]
]

describe("an adapter that breaks its contract", () => {
  for (const [what, reply] of garbage) {
    const broken = rogue("broken", () => Effect.succeed(reply))
    const well = prompt("well")
    testInWorld(
      `makes only its own carrier's answer unreadable if it answers with ${what}`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer unreadable_answer", "well quoted"])
        assert.strictEqual((yield* read(id, live)).quote_request.status, "completed")
      }),
      carriers(broken, well)
    )
  }

  const wrecks: ReadonlyArray<readonly [string, () => unknown]> = [
    [
      "throws before it starts",
      () => {
        throw new Error("no")
      }
    ],
    ["ends with a defect", () => Effect.die("no")],
    ["fails", () => Effect.fail("no")],
    ["interrupts itself", () => Effect.interrupt],
    ["rejects a promise", () => Effect.promise(() => Promise.reject(new Error("no")))]
  ]
  for (const [what, ask] of wrecks) {
    const broken = rogue("broken", ask, { idempotent: false })
    const well = prompt("well")
    testInWorld(
      `makes only its own carrier fail if it ${what}`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer carrier_error", "well quoted"])
      }),
      carriers(broken, well)
    )
  }

  testInWorld("frees its slot for the next ask", () => {
    let asks = 0
    const broken = rogue(
      "broken",
      () => {
        asks++
        throw new Error("no")
      },
      { max_concurrent: 1, idempotent: false }
    )
    return {
      ...carriers(broken),
      body: Effect.gen(function* () {
        yield* work
        for (let i = 0; i < 5; i++) {
          yield* start({}, live)
          yield* pass(10)
        }
        assert.strictEqual(asks, 5)
      })
    }
  })
})
