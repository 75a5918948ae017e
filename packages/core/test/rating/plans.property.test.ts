import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as fc from "fast-check"
import { declineReasons } from "../../src/carriers/Carrier.ts"
import { check as checkOffer } from "../../src/carriers/Offer.ts"
import * as SecretFinder from "../../src/carriers/secrets/SecretFinder.ts"
import { lineNames, type StandardLineName } from "../../src/lines/standard.ts"
import { answerOf, riskOf } from "../../src/rating/PlanAnswer.ts"
import * as RatePlan from "../../src/rating/RatePlan.ts"
import { ratePlanCarrier } from "../../src/rating/ratePlanCarrier.ts"
import { lineNamed } from "../lines/applications.ts"
import { assumed, requestedAt, today } from "../sandbox/support.ts"
import { applications, exampleIn, plans } from "./plans.ts"

/** A plan with its own price as its example; null if it declines. */
const withExample = (line: StandardLineName, plan: object): unknown => {
  const { states } = Schema.decodeUnknownSync(Schema.Struct({ states: Schema.Array(Schema.String) }))(plan)
  const example = { name: "Made up", on: today, application: exampleIn(line, states[0] ?? "") }
  const whole = { ...plan, examples: [{ ...example, premium_cents: 1 }] }
  const decoded = Schema.decodeUnknownSync(RatePlan.RatePlan)(whole)
  const risk = riskOf(decoded, assumed(line, example.application), today)
  const answer = risk === null ? null : answerOf(decoded, risk, today)
  return answer?.kind === "priced"
    ? { ...whole, examples: [{ ...example, premium_cents: answer.premium.cents }] }
    : whole
}

/** What a plan's carrier answers for an application. */
const replyTo = (plan: RatePlan.RatePlan, line: StandardLineName, application: Parameters<typeof assumed>[1]) => {
  const { assumptions, facts } = assumed(line, application)
  const ask = ratePlanCarrier(plan).ask({
    line,
    environment: "live",
    facts,
    assumptions,
    credit_disclosed: false,
    idempotency_key: "key",
    attempt: 1,
    scenario: null,
    requested_at: requestedAt,
    asked_at: requestedAt,
    now: requestedAt,
    deadline: requestedAt + 90_000
  })
  return Effect.runSync(ask)
}

describe("a rate plan that passes the check", () => {
  for (const name of lineNames) {
    it(`quotes every application in its states within its bounds, or declines it with a reason (${name})`, () => {
      const line = lineNamed(name)
      const counts = { passed: 0, refused: 0, offers: 0, declines: 0 }
      const sample = plans(name).chain((made) => {
        const plan = withExample(name, made)
        const read = RatePlan.read(plan)
        const states = Result.isSuccess(read) ? read.success.states : ["NY"]
        return fc.tuple(fc.constant(read), fc.array(applications(name, states), { minLength: 5, maxLength: 5 }))
      })
      fc.assert(
        fc.property(sample, ([read, sent]) => {
          if (Result.isFailure(read)) {
            counts.refused += 1
            return
          }
          counts.passed += 1
          const plan = read.success
          for (const application of sent) {
            if (Result.isFailure(line.read(application, today))) continue
            const { state, subjects } = assumed(name, application)
            const reply = replyTo(plan, name, application)
            // It declines with a known reason, or its offer is within the plan's bounds and passes the checks.
            if (reply.kind === "declined") {
              counts.declines += 1
              assert.include(declineReasons, reply.reason)
              continue
            }
            counts.offers += 1
            assert.strictEqual(reply.kind, "offers")
            const [offer] = reply.kind === "offers" ? reply.offers : []
            if (offer === undefined) assert.fail("no offer")
            const premium = offer.premium?.amount_minor ?? 0
            assert.isAtLeast(premium, plan.minimum_cents)
            assert.isAtMost(premium, plan.maximum_cents ?? 99_999_999)
            const subject_ids = new Set(subjects.map(({ subject_id }) => subject_id))
            const checked = checkOffer(offer, {
              line,
              state,
              subject_ids,
              handoff_hosts: [],
              secrets: SecretFinder.none,
              now: requestedAt
            })
            assert.isTrue(Result.isSuccess(checked))
          }
        }),
        { numRuns: 60 }
      )
      // The sample must contain what the test is about.
      for (const count of Object.values(counts)) assert.isAbove(count, 0, JSON.stringify(counts))
    })
  }
})
