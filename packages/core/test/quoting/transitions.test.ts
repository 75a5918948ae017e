import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as QuoteRequest from "../../src/quoting/QuoteRequest.ts"
import { ApplicationId, QuoteId, QuoteRequestId } from "../../src/wire/Ids.ts"

const name = (id: string) => ({ id, name: `The ${id}` })
const quoteId = (n: number) => QuoteId.make(`qt_${String(n).padStart(26, "0")}`)
const question = { outcome: "needs_information", message: "?", missing_facts: ["application.x"] } as const
const quoted = { outcome: "quoted", quote_ids: [quoteId(1)] } as const
const declined = { outcome: "declined", reason: "prior_claims", message: null } as const
const silent = { outcome: "no_answer", reason: "carrier_error" } as const

const start = () =>
  QuoteRequest.start({
    id: QuoteRequestId.make(`qreq_${"0".repeat(26)}`),
    application_id: ApplicationId.make(`app_${"0".repeat(26)}`),
    environment: "live",
    line: "renters",
    scenario: null,
    at: 0
  })

type Outcome = QuoteRequest.AskOutcome

/** A request whose carriers `c0`, `c1`, … are being asked, and some that are not. */
const collecting = (asked: number, notAsked = 0) =>
  QuoteRequest.collect(
    start().request,
    [
      ...Array.from({ length: asked }, (_, i) => QuoteRequest.asked(name(`c${i}`), 1_000)),
      ...Array.from({ length: notAsked }, (_, i) => QuoteRequest.notAsked(name(`n${i}`), "state_not_served"))
    ],
    1_000,
    91_000
  )

/** The outcome of a request whose carriers answer in turn, and whose deadline passes if `closes`. */
const endOf = (outcomes: ReadonlyArray<Outcome>, closes: boolean, open = 0) => {
  let step: QuoteRequest.Step = collecting(outcomes.length + open)
  for (const [i, outcome] of outcomes.entries()) {
    step = QuoteRequest.answer(step.request, `c${i}`, outcome, 2_000) ?? assert.fail(`c${i} was not awaited`)
  }
  if (closes) step = QuoteRequest.close(step.request, 91_000) ?? assert.fail("nothing was open")
  return [step.request.status, step.request.status_details.reason, step.event]
}

describe("a quote request", () => {
  it("starts as queued, with version 1", () => {
    const { event, request } = start()
    assert.deepStrictEqual(
      [event, request.status, request.status_details.reason, request.version],
      ["quote_request.queued", "in_progress", "queued", 1]
    )
    assert.deepStrictEqual(request.next_actions, [{ type: "read_status", resource: "quote_request", id: request.id }])
  })

  it("fails with cancelled_by_caller, without next actions, if it is cancelled while queued", () => {
    const step = QuoteRequest.cancel(start().request, 5_000)
    assert.deepStrictEqual(
      [step?.event, step?.request.status, step?.request.status_details.reason, step?.request.version],
      ["quote_request.cancelled", "failed", "cancelled_by_caller", 2]
    )
    assert.deepStrictEqual(step?.request.next_actions, [])
    assert.strictEqual(step?.request.updated_at, "1970-01-01T00:00:05.000Z")
  })

  it("is not changed by a cancellation once it is no longer queued", () => {
    const begun = collecting(1)
    assert.isNull(QuoteRequest.cancel(begun.request, 5_000))
    const cancelled = QuoteRequest.cancel(start().request, 1)
    assert.isNull(QuoteRequest.cancel(cancelled?.request ?? assert.fail(), 5_000))
  })

  it("becomes collecting when collection starts", () => {
    const { event, request } = collecting(2, 1)
    assert.deepStrictEqual(
      [event, request.status, request.status_details.reason, request.version, request.deadline_at],
      ["quote_request.updated", "in_progress", "collecting", 2, "1970-01-01T00:01:31.000Z"]
    )
  })

  it("fails with no_carrier_available if no carrier can be asked", () => {
    for (const step of [collecting(0), collecting(0, 3)]) {
      assert.deepStrictEqual(
        [step.event, step.request.status, step.request.status_details.reason],
        ["quote_request.failed", "failed", "no_carrier_available"]
      )
    }
  })

  it("becomes quotes_arriving when a carrier quotes while other carriers are pending", () => {
    assert.deepStrictEqual(endOf([quoted], false, 1), ["in_progress", "quotes_arriving", "quote_request.updated"])
  })

  it("keeps its status when a carrier declines or is silent while other carriers are pending", () => {
    for (const outcome of [declined, silent]) {
      assert.deepStrictEqual(endOf([outcome], false, 1), ["in_progress", "collecting", "quote_request.updated"])
      assert.deepStrictEqual(endOf([quoted, outcome], false, 1), [
        "in_progress",
        "quotes_arriving",
        "quote_request.updated"
      ])
    }
  })

  it("becomes action_required when a carrier asks a question, even after other answers or the deadline", () => {
    const row = ["action_required", "carrier_question", "quote_request.updated"]
    assert.deepStrictEqual(endOf([question], false), row)
    assert.deepStrictEqual(endOf([question, quoted], false), row)
    assert.deepStrictEqual(endOf([quoted, question, declined], false), row)
    assert.deepStrictEqual(endOf([question], true, 2), row)
  })

  it("completes with an action_not_taken reason if nobody answers the question for a day", () => {
    for (const [others, reason] of [
      [[], "no_offers_action_not_taken"],
      [[declined], "no_offers_action_not_taken"],
      [[quoted], "quotes_ready_action_not_taken"]
    ] as const) {
      let { request } = collecting(others.length + 2)
      for (const [i, outcome] of [question, ...others].entries()) {
        request = QuoteRequest.answer(request, `c${i}`, outcome, 2_000)?.request ?? assert.fail()
      }
      const step = QuoteRequest.endAction(request, 86_400_000)
      assert.deepStrictEqual(
        [step?.request.status, step?.request.status_details.reason, step?.event],
        ["completed", reason, "quote_request.completed"]
      )
      assert.isFalse(step?.request.carriers.some(({ outcome }) => outcome === "pending"))
    }
    assert.isNull(QuoteRequest.endAction(collecting(1).request, 86_400_000))
  })

  const rows: ReadonlyArray<readonly [ReadonlyArray<Outcome>, boolean, string, string, string]> = [
    [[quoted], false, "completed", "quotes_ready", "quote_request.completed"],
    [[quoted, declined], false, "completed", "quotes_ready", "quote_request.completed"],
    [[declined, quoted], false, "completed", "quotes_ready", "quote_request.completed"],
    [[quoted, silent], false, "completed", "quotes_ready_some_silent", "quote_request.completed"],
    [[quoted], true, "completed", "quotes_ready_some_silent", "quote_request.completed"],
    [[quoted, declined], true, "completed", "quotes_ready_some_silent", "quote_request.completed"],
    [[declined], false, "completed", "no_offers", "quote_request.completed"],
    [[declined, declined], false, "completed", "no_offers", "quote_request.completed"],
    [[declined, silent], false, "completed", "no_offers_some_silent", "quote_request.incomplete"],
    [[declined], true, "completed", "no_offers_some_silent", "quote_request.incomplete"],
    [[silent], false, "failed", "no_carrier_answered", "quote_request.failed"],
    [[silent], true, "failed", "no_carrier_answered", "quote_request.failed"],
    [[], true, "failed", "no_carrier_answered", "quote_request.failed"]
  ]
  for (const [outcomes, closes, ...end] of rows) {
    const all = outcomes.map(({ outcome }) => outcome).join(", ") || "missing"
    it(`ends as ${end[0]} with ${end[1]} if the outcomes are ${all}${closes ? " at the deadline" : ""}`, () => {
      assert.deepStrictEqual(endOf(outcomes, closes, closes ? 1 : 0), end)
    })
  }

  it("has no pending carrier after it has failed", () => {
    const { request } = QuoteRequest.fail(collecting(2).request, "internal_error", 5_000)
    assert.deepStrictEqual(
      request.carriers.map(({ outcome }) => outcome),
      ["no_answer", "no_answer"]
    )
  })
})

/** Something that can happen to a request: the index of a carrier, and what it does. */
type Move =
  | { readonly what: "answer"; readonly carrier: number; readonly outcome: number }
  | { readonly what: "close" | "endAction" | "cancel" | "collect" | "fail" }

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("answer" as const),
      carrier: fc.nat(5),
      outcome: fc.nat(3)
    })
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom("close", "endAction", "cancel", "collect", "fail") }) }
)

const outcomeOf = (kind: number, n: number): Outcome =>
  [{ outcome: "quoted" as const, quote_ids: [quoteId(n), quoteId(n + 1)] }, declined, silent, question][kind] ?? silent

const finals = new Set([
  "quote_request.completed",
  "quote_request.failed",
  "quote_request.cancelled",
  "quote_request.incomplete"
])

/** Applies a move as the engine would; null if it does not apply. */
const apply = (request: QuoteRequest.QuoteRequest, next: Move, at: number): QuoteRequest.Step | null => {
  switch (next.what) {
    case "answer":
      return QuoteRequest.answer(request, `c${next.carrier}`, outcomeOf(next.outcome, 2 * at), at)
    case "close":
      return QuoteRequest.close(request, at)
    case "endAction":
      return QuoteRequest.endAction(request, at)
    case "cancel":
      return QuoteRequest.cancel(request, at)
    case "collect":
      return request.status_details.reason === "queued"
        ? QuoteRequest.collect(request, collecting(5, 1).request.carriers, at, at + 90_000)
        : null
    case "fail":
      return QuoteRequest.isFinal(request) ? null : QuoteRequest.fail(request, "internal_error", at)
  }
}

describe("in any history of a quote request", () => {
  it("each step raises the version by one, and at most one version is final", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        let { request } = start()
        let ended: string | null = null
        for (const [at, next] of moves.entries()) {
          const before = JSON.stringify(request)
          const step = apply(request, next, at + 1)
          assert.strictEqual(JSON.stringify(request), before, "a step is a new value")
          if (step === null) continue
          assert.isNull(ended, `nothing follows ${ended}`)
          assert.strictEqual(step.request.version, request.version + 1)
          assert.strictEqual(QuoteRequest.isFinal(step.request), finals.has(step.event))
          if (finals.has(step.event)) ended = step.event
          request = step.request
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it("the request has exactly its carriers' quotes, and no carrier is pending when it ends", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        let { request } = collecting(5, 1)
        for (const [at, next] of moves.entries()) request = apply(request, next, at + 1)?.request ?? request
        assert.sameMembers(
          request.carriers.flatMap(({ quote_ids }) => quote_ids),
          [...request.quote_ids]
        )
        for (const result of request.carriers) {
          assert.strictEqual(result.quote_ids.length > 0, result.outcome === "quoted")
          assert.strictEqual(result.outcome === "not_asked", result.asked_at === null)
          if (result.outcome === "pending") assert.isFalse(QuoteRequest.isFinal(request))
        }
        assert.strictEqual(request.next_actions.length === 0, QuoteRequest.isFinal(request))
      }),
      { numRuns: 2_000 }
    )
  })

  it("a request without an open question ends at the deadline or once all carriers have answered", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }), fc.nat(6), (kinds, heard) => {
        let step: QuoteRequest.Step | null = collecting(kinds.length)
        for (const [i, kind] of kinds.slice(0, heard).entries()) {
          step = QuoteRequest.answer(step.request, `c${i}`, outcomeOf(kind, i * 2), 2_000) ?? step
        }
        step = QuoteRequest.close(step.request, 91_000) ?? step
        const asks = step.request.carriers.some(({ outcome }) => outcome === "needs_information")
        assert.strictEqual(step.request.status === "action_required", asks)
        assert.strictEqual(QuoteRequest.isFinal(step.request), !asks)
        if (asks) step = QuoteRequest.endAction(step.request, 86_400_000) ?? step
        assert.isTrue(QuoteRequest.isFinal(step.request))
      })
    )
  })
})
