import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { noLimits } from "../src/access/limits/Limits.ts"
import { apart, measured } from "./measured.ts"
import { advance, list, live, pass, refusal, runDue, start, work } from "./support/world.ts"
import { answered, confirmed, create, sendTest, testScripted, testWebhooks } from "./webhooks/support.ts"

describe("the core's metrics", () => {
  testWebhooks(
    "count webhook attempts by outcome, and refused calls by limit",
    () =>
      apart(
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* sendTest(id)
          yield* runDue
          yield* advance(5)
          yield* runDue
          yield* sendTest(id)
          yield* runDue
          yield* list()
          yield* refusal(list())
          yield* refusal(list())
          assert.sameMembers(yield* measured, [
            "quotewire_webhook_attempts_total outcome=failed: 1",
            "quotewire_webhook_attempts_total outcome=succeeded: 2",
            "quotewire_rate_limited_total limit=reads of a key a minute: 2"
          ])
        })
      ),
    { send: (_, nth) => (nth === 1 ? answered(500) : confirmed) },
    {
      limits: {
        ...noLimits,
        keys: { ...noLimits.keys, sandbox: { ...noLimits.keys.sandbox, read: { per_minute: 3, per_day: null } } }
      }
    }
  )

  testScripted("count claimed jobs, and report the age of the oldest unclaimed job", () => {
    /** The metrics at each moment when a runner asked for work. */
    const seen: Array<string> = []
    return {
      around: (storage) => ({
        ...storage,
        claim: (query) =>
          Effect.andThen(
            Effect.map(measured, (found) => seen.push(...found)),
            storage.claim(query)
          )
      }),
      body: () =>
        apart(
          Effect.gen(function* () {
            for (let i = 0; i < 150; i++) yield* start({}, live)
            yield* pass(90_000)
            yield* work
            yield* pass(2_000)
            const found = yield* measured
            assert.match(found.find((one) => one.startsWith("quotewire_jobs_claimed_total")) ?? "", /: [1-9]\d{2,}$/)
            assert.includeMembers(found, ["quotewire_jobs_running: 0", "quotewire_oldest_due_job_age_seconds: 0"])
            assert.include(seen, "quotewire_oldest_due_job_age_seconds: 90")
          })
        )
    }
  })
})
