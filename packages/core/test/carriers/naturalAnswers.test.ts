import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import * as AnswerRules from "../../src/carriers/AnswerRules.ts"
import { type CarrierReply, declineReasons } from "../../src/carriers/Carrier.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { minuteMs } from "../../src/wire/Timestamp.ts"
import { carrier, carriers, offer, offers, prompt } from "../quoting/carriers.ts"
import { logOfRequest, single } from "../quoting/log.ts"
import { beginning, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"

/*
 * Values that an adapter easily returns by accident, such as an undefined field of the carrier's answer. None may
 * invalidate the answer.
 */

const bare = { offer_ref: "1", premium: offer().premium, term_months: 12 } as const

/** A value whose optional fields are present but undefined, as JavaScript code often produces it. */
const withUndefined = <A extends object>(value: A, ...names: ReadonlyArray<string>): A =>
  Object.assign({ ...value }, Object.fromEntries(names.map((name) => [name, undefined])))

/** Replies as a handwritten adapter returns them: what the type allows, and what JavaScript adds. */
const undefinedMembers: ReadonlyArray<readonly [string, CarrierReply, string]> = [
  ["an offer", Reply.offers([{ ...bare, product: undefined, expires_at: undefined, fees: undefined }]), "quoted"],
  [
    "an offer's optional fields",
    Reply.offers([{ ...bare, refresh_after_ms: undefined, extra_actions: undefined, reason: undefined }]),
    "quoted"
  ],
  ["an offer's optional fields as null", Reply.offers([JSON.parse('{"offer_ref":"1","fees":null}')]), "quoted"],
  [
    "an offer without `Reply`",
    { kind: "offers", offers: [withUndefined(offer(), "refresh_after_ms", "extra_actions")] },
    "quoted"
  ],
  [
    "an assumption and an action",
    {
      kind: "offers",
      offers: [
        offer({
          assumptions: [withUndefined({ path: "a", value: 1, source: "carrier" }, "label")],
          extra_actions: [withUndefined({ type: "call_agent" }, "phone_number")]
        })
      ]
    },
    "quoted"
  ],
  ["a decline's message", Reply.decline("prior_claims", undefined), "declined prior_claims"],
  ["a decline's message as null", Reply.decline("prior_claims", null), "declined prior_claims"],
  [
    "a decline's message without `Reply`",
    withUndefined({ kind: "declined", reason: "prior_claims" }, "message"),
    "declined prior_claims"
  ],
  [
    "a question's choices",
    Reply.question(withUndefined({ path: "a", label: "A?" }, "allowed_values")),
    "needs_information"
  ],
  ["a wait as null", Reply.unavailable("maintenance", null), "no_answer maintenance"]
]

describe("optional members", () => {
  for (const [what, reply, outcome] of undefinedMembers) {
    for (const [by, scripted] of [
      ["an adapter", prompt("own", reply)],
      [
        "a defined carrier",
        {
          adapter: defineCarrier({
            id: "naic:12345",
            name: "Acme Mutual",
            lines: { renters: { states: ["NY"] } },
            handoff_hosts: ["carrier.example"],
            ask: () => reply
          }),
          asks: []
        }
      ]
    ] as const) {
      testInWorld(
        `may be undefined or null: ${what}, returned by ${by}`,
        Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(10)
          assert.deepStrictEqual(yield* outcomes(id), [`${scripted.adapter.carrier.id} ${outcome}`])
        }),
        carriers(scripted)
      )
    }
  }

  testInWorld("may be undefined in a refreshed offer", () => {
    const refreshing = prompt("own", Reply.offers([{ ...bare, refresh_after_ms: minuteMs }]), {
      rest: {
        refresh: () =>
          Effect.succeed(
            Reply.refreshed("price_updated", {
              ...bare,
              premium: offer().premium,
              product: undefined,
              reason: undefined
            })
          )
      }
    })
    return {
      ...carriers(refreshing),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* pass(minuteMs)
        const [quote] = (yield* read(id, live)).quotes
        assert.strictEqual(quote?.version, 2)
      })
    }
  })

  it("may be undefined in an offer's type", () => {
    expectTypeOf<{ offer_ref: string; product: string | undefined }>().toExtend<Reply.PartialOffer>()
    expectTypeOf<{ offer_ref: undefined }>().not.toExtend<Reply.PartialOffer>()
  })
})

describe("a wait in milliseconds", () => {
  it("is rounded up to a whole number in every field of an answer", () => {
    const sizes = fc.double({ noNaN: true, noDefaultInfinity: true })
    fc.assert(
      fc.property(sizes, (millis) => {
        const waits = [
          Reply.pending("1", { poll_after_ms: millis }),
          Reply.unavailable("rate_limited", millis),
          Reply.offers([{ ...bare, refresh_after_ms: millis }]),
          { kind: "pending", ref: "1", poll_after_ms: null, callback_after_ms: millis }
        ]
        for (const reply of waits) assert.isTrue(Result.isSuccess(AnswerRules.readReply(reply)), `${millis}`)
        const refreshed = Reply.refreshed("rechecked", { ...bare, refresh_after_ms: millis })
        for (const found of [refreshed, Reply.unavailable("timeout", millis)]) {
          assert.isTrue(Result.isSuccess(AnswerRules.readRefresh(found)), `${millis}`)
        }
        const read = Result.getOrThrow(AnswerRules.readReply(Reply.unavailable("timeout", millis)))
        const wait = read.kind === "unavailable" ? read.retry_after_ms : undefined
        if (Math.abs(millis) < 1e9) assert.strictEqual(wait, Math.ceil(millis))
      })
    )
  })

  it("must be a finite number; otherwise the error names the field", () => {
    for (const millis of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const broken = Result.getOrThrow(
        Result.flip(AnswerRules.readReply(Reply.pending("1", { poll_after_ms: millis })))
      )
      assert.deepStrictEqual(
        broken.map(({ path }) => path),
        ["poll_after_ms"]
      )
    }
  })

  testInWorld("is rounded up for polls and repeated asks", () => {
    const scripted = carrier(
      "own",
      (_, nth) =>
        Effect.succeed(
          nth === 1
            ? Reply.unavailable("rate_limited", 2.3 * 1_000.001)
            : Reply.pending("1", { poll_after_ms: 2.01 * 1_000 })
        ),
      { rest: { poll: () => Effect.succeed(offers()) } }
    )
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(2_301)
        assert.deepStrictEqual(
          scripted.asks.map(({ at }) => at - beginning),
          [0, 2_301]
        )
        yield* pass(2_010)
        assert.deepStrictEqual(yield* outcomes(id), ["own quoted"])
      })
    }
  })

  for (const millis of [9e15, 1e300]) {
    testInWorld(`leaves the quote unchanged even if a refresh must wait ${millis} ms`, () => {
      const scripted = prompt("own", offers(offer({ refresh_after_ms: minuteMs, expires_at: null })), {
        rest: { refresh: () => Effect.succeed(Reply.unavailable("maintenance", millis)) }
      })
      return {
        ...carriers(scripted),
        body: Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(10)
          yield* pass(minuteMs)
          const { quotes } = yield* read(id, live)
          assert.deepStrictEqual(
            quotes.map(({ status, version }) => [status, version]),
            [["active", 1]]
          )
        })
      }
    })
  }
})

describe("an expiry time", () => {
  const expiring = (expires_at: string | Date) => [
    [`${JSON.stringify(expires_at)} passed to Reply`, Reply.offers([{ ...bare, expires_at }])] as const,
    [
      `${JSON.stringify(expires_at)} in a plain object`,
      { kind: "offers", offers: [Object.assign(offer(), { expires_at })] } as const
    ] as const
  ]
  const taken: ReadonlyArray<string | Date> = [
    new Date("2027-01-31T12:00:00.000Z"),
    "2027-01-31T12:00:00Z",
    "2027-01-31T12:00Z",
    "2027-01-31 12:00:00Z",
    "2027-01-31T07:00:00.000000-05:00",
    "2027-01-31T13:00+01:00"
  ]
  for (const [what, reply] of taken.flatMap(expiring)) {
    const own = prompt("own", reply)
    testInWorld(
      `is converted to UTC: ${what}`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const [quote] = (yield* read(id, live)).quotes
        assert.strictEqual(quote?.availability.expires_at, "2027-01-31T12:00:00.000Z")
      }),
      carriers(own)
    )
  }

  const refused = [
    "12/31/2027",
    "2027-12-31",
    "2027-12-31T12:00:00",
    "2027-02-30T12:00:00Z",
    "2027-12-31T25:00:00Z",
    "2027-12-31T12:00:00+25:00",
    "2027-12-31T12:00:00 EST",
    "Fri, 31 Dec 2027 12:00:00 GMT",
    new Date(Number.NaN)
  ]
  for (const [what, reply] of refused.flatMap(expiring)) {
    const own = prompt("own", reply)
    testInWorld(
      `makes the answer unreadable if it is invalid, and the log explains why: ${what}`,
      Effect.gen(function* () {
        const { id, lines } = yield* logOfRequest()
        assert.deepStrictEqual(yield* outcomes(id), ["own no_answer unreadable_answer"])
        assert.strictEqual(
          single(lines, "Dropped a carrier's answer that breaks the rules").annotations.broken_rules,
          "offers.0.expires_at: Must be a time with a UTC offset, such as 2027-01-31T23:59:59-05:00."
        )
      }),
      carriers(own)
    )
  }
})

describe("a value that is not an allowed choice", () => {
  testInWorld("causes a log entry with the allowed choices", () => {
    const own = prompt("own", Object.assign(Reply.decline("prior_claims"), { reason: "UW_42" }))
    return {
      ...carriers(own),
      body: Effect.gen(function* () {
        const { lines } = yield* logOfRequest()
        assert.strictEqual(
          single(lines, "Dropped a carrier's answer that breaks the rules").annotations.broken_rules,
          `reason: Must be one of ${declineReasons.join(", ")}.`
        )
      })
    }
  })
})

describe("a reply with too many members", () => {
  const items = { objects: () => ({}), "objects without a prototype": () => Object.create(null), lists: () => [] }

  it.each(Object.entries(items))("is refused without being copied: %s", (_, make) => {
    fc.assert(
      fc.property(fc.integer({ min: 50_001, max: 150_000 }), fc.constantFrom("offers", "questions"), (length, list) => {
        let reads = 0
        const last = Object.defineProperty({}, "label", { enumerable: true, get: () => void reads++ })
        const kind = list === "offers" ? "offers" : "question"
        const read = AnswerRules.readReply({ kind, [list]: [...Array.from({ length }, make), last] })
        assert.deepStrictEqual([Result.isFailure(read), reads], [true, 0])
      }),
      { numRuns: 8 }
    )
  })
})
