import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { Change } from "../../src/storage/Change.ts"
import * as Delivery from "../../src/webhooks/records/Delivery.ts"
import * as EndpointHealth from "../../src/webhooks/records/EndpointHealth.ts"
import { createUnfinished } from "../../src/webhooks/records/EventSubscription.ts"
import * as StoredSubscription from "../../src/webhooks/records/StoredSubscription.ts"
import { applyAttempts, type EndedAttempt, type WebhookEndpoint } from "../../src/webhooks/records/WebhookEndpoint.ts"
import { SubscriptionId } from "../../src/wire/Ids.ts"
import { dayMs, hourMs } from "../../src/wire/Timestamp.ts"

const id = SubscriptionId.make("sub_00000000000000000000000001")
const began = dayMs * 10_000

const subscription = StoredSubscription.changed(
  createUnfinished({
    id,
    environment: "live",
    url: "https://hooks.acme.dev/",
    event_types: ["quote.created"],
    sealed: "sealed",
    at: began
  }),
  { status: "active" },
  began
)

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Attempt = Schema.Struct({
  delivery: between(1, 4),
  schedule_step: Schema.NullOr(Schema.Literals([1, 1, 1, 2])),
  answer: Schema.Literals(["confirmed", "failed", "failed", "hung", "hung", "hung"]),
  hours: between(0, 150),
  takes_ms: between(0, 15_000)
})
type Attempt = typeof Attempt.Type

/** Attempts that ended one after the other, some days apart, occasionally two of one delivery. */
const attempts = Arbitrary.array(Arbitrary.schema(Attempt))

const queued = (place: number): Delivery.StoredDelivery =>
  Delivery.make({
    subscription_id: id,
    event_id: `evt_${`${place}`.padStart(26, "0")}`,
    event_type: "quote.created",
    payload: "{}",
    at: began
  })

const endedOf = (
  { schedule_step, answer, hours, takes_ms }: Attempt,
  delivery: Delivery.StoredDelivery
): EndedAttempt => {
  const attempted_at = began + hours * hourMs
  const outcome: Delivery.AttemptOutcome = {
    attempted_at,
    ended_at: attempted_at + takes_ms,
    confirmed: answer === "confirmed",
    response_status_code: answer === "confirmed" ? 204 : answer === "failed" ? 500 : null,
    response_duration_ms: takes_ms,
    failure: answer === "hung" ? "timeout" : answer === "failed" ? "connection_failed" : null,
    trigger: schedule_step === null ? "manual" : "scheduled"
  }
  return { schedule_step, delivery, outcome, now: attempted_at }
}

type Deliveries = ReadonlyMap<string, Delivery.StoredDelivery>

/** The stored records after a change. */
const stored = (endpoint: WebhookEndpoint, deliveries: Deliveries, { writes }: Pick<Change, "writes">) => {
  const of = (kind: string) => writes.filter((record) => record.kind === kind)
  const after = new Map(deliveries)
  for (const record of of("delivery")) {
    const delivery = Delivery.kind.value(record)
    assert.strictEqual(delivery.version, (deliveries.get(delivery.event_id)?.version ?? 1) + 1)
    after.set(delivery.event_id, delivery)
  }
  const [health] = of("endpoint_health").map(EndpointHealth.kind.value)
  const [written] = of("subscription").map(StoredSubscription.kind.value)
  if (health !== undefined) assert.strictEqual(health.version, endpoint.health.version + 1)
  if (written !== undefined) assert.strictEqual(written.version, endpoint.subscription.version + 1)
  const reached: WebhookEndpoint = { subscription: written ?? endpoint.subscription, health: health ?? endpoint.health }
  return { endpoint: reached, deliveries: after }
}

const start = { endpoint: { subscription, health: EndpointHealth.unknown(id) }, deliveries: new Map() }

const oneByOne = (all: ReadonlyArray<Attempt>) => {
  let now: ReturnType<typeof stored> = start
  const jobs: Array<Change["jobs"][number]> = []
  for (const attempt of all) {
    const first = queued(attempt.delivery)
    const change = applyAttempts(now.endpoint, [endedOf(attempt, now.deliveries.get(first.event_id) ?? first)])
    now = stored(now.endpoint, now.deliveries, change)
    jobs.push(...change.jobs)
  }
  return { ...now, jobs }
}

const together = (all: ReadonlyArray<Attempt>) => {
  const change = applyAttempts(
    start.endpoint,
    all.map((attempt) => endedOf(attempt, queued(attempt.delivery)))
  )
  return { ...stored(start.endpoint, start.deliveries, change), jobs: change.jobs }
}

/** Everything except version numbers, because a batch writes fewer versions. */
const withoutVersions = ({ endpoint, deliveries, jobs }: ReturnType<typeof together>) => ({
  subscription: { ...endpoint.subscription, version: 0 },
  health: { ...endpoint.health, version: 0 },
  deliveries: [...deliveries.values()].map((delivery) => ({ ...delivery, version: 0 })),
  jobs
})

describe("attempts to one endpoint", () => {
  it.prop(
    "have the same result whether applied together or one by one",
    [attempts],
    ([all]) => {
      if (all.length > 0) assert.deepStrictEqual(withoutVersions(together(all)), withoutVersions(oneByOne(all)))
    },
    { arbitrary: { runs: 500, size: 40 } }
  )

  it("write each record once, even if one delivery was attempted twice", () => {
    const scheduled: Attempt = { delivery: 1, schedule_step: 1, answer: "failed", hours: 0, takes_ms: 5 }
    const beside: Attempt = { ...scheduled, schedule_step: null, answer: "confirmed" }
    const change = applyAttempts(
      start.endpoint,
      [scheduled, beside].map((attempt) => endedOf(attempt, queued(1)))
    )
    assert.deepStrictEqual(
      change.writes.map(({ kind, version }) => [kind, version]),
      [
        ["delivery", 2],
        ["endpoint_health", 1]
      ]
    )
    const [delivery] = change.writes.slice(0, 1).map(Delivery.kind.value)
    assert.deepStrictEqual(
      [delivery?.status, delivery?.attempts.map(({ status }) => status)],
      ["retrying", ["succeeded", "failed"]]
    )
    assert.lengthOf(change.jobs, 1)
  })

  it("have the same result whether applied to records or to encoded records", () => {
    const attempt: Attempt = { delivery: 1, schedule_step: 1, answer: "failed", hours: 1, takes_ms: 5 }
    const [delivery, health] = applyAttempts(start.endpoint, [endedOf(attempt, queued(1))]).writes
    if (delivery === undefined || health === undefined) return assert.fail("Two records are written")
    const encoded = (record: Change["writes"][number]) => ({ ...record, body: record.body })
    assert.deepStrictEqual(Delivery.kind.value(encoded(delivery)), Delivery.kind.value(delivery))
    assert.deepStrictEqual(EndpointHealth.kind.value(encoded(health)), EndpointHealth.kind.value(health))
    assert.include(delivery.body, '"status":"retrying"')
  })

  it("cancel the current and later deliveries once they turn delivery off", () => {
    const at = (delivery: number, hours: number): Attempt => ({
      delivery,
      schedule_step: 1,
      answer: "failed",
      hours,
      takes_ms: 5
    })
    const { endpoint, deliveries, jobs } = together([at(1, 0), at(2, 120), at(3, 121)])
    assert.isFalse(endpoint.subscription.delivery_enabled)
    assert.deepStrictEqual(
      [...deliveries.values()].map(({ status }) => status),
      ["retrying", "cancelled", "cancelled"]
    )
    assert.deepStrictEqual(
      jobs.map(({ kind }) => kind),
      ["deliver", "cancel_deliveries"]
    )
  })
})
