import { inPackage, stories, test } from "../Mutant.ts"

const cursors = "packages/core/test/events/cursors.test.ts"
const delivering = "packages/core/test/webhooks/delivering.test.ts"
const rotation = "packages/core/test/webhooks/rotation.test.ts"
const hosts = "packages/core/test/consuming/hosts.test.ts"
const failing = "packages/core/test/consuming/failing.test.ts"

/** The feed, webhooks and consumers. */
export const events = inPackage("core")({
  "events/Events.ts": [
    {
      name: "a cursor that skips an event",
      from: `\`\${workspace.reset_count} \${page.reached}\``,
      to: `\`\${workspace.reset_count} \${page.reached + 1}\``,
      found_by: stories
    },
    {
      name: "a cursor from before a reset",
      from: "if (from !== null && from.reset_count !== workspace.reset_count) {",
      to: "if (from !== null && from.reset_count > workspace.reset_count) {",
      found_by: stories
    },
    {
      name: "the feed of a sandbox whose reset is under way",
      from: "const isErased = workspace.erased_count < workspace.reset_count",
      to: "const isErased = false",
      found_by: test("packages/core/test/sandbox/controlCrashes.test.ts", "shows no event that the reset has erased")
    },
    {
      name: "a cursor before erased events",
      from: "if (from !== null && from.number < page.erased_through)",
      to: "if (from !== null && from.number + 1 < page.erased_through)",
      found_by: test(cursors, "keeps events for 30 days, and rejects only cursors that precede an erased event")
    }
  ],
  "webhooks/deliveries/Publishing.ts": [
    {
      name: "recipients that are not expected",
      from: "expects: [...change.expects, seen]",
      to: "expects: change.expects",
      found_by: stories
    }
  ],
  "webhooks/deliveries/Attempts.ts": [
    {
      name: "a body that is encoded again",
      from: "headers, body: payload }",
      to: "headers, body: JSON.stringify(JSON.parse(payload), null, 1) }",
      found_by: stories
    },
    {
      name: "a signature over the body encoded again",
      from: "sign(keys, { id, timestamp, body: payload })",
      to: "sign(keys, { id, timestamp, body: JSON.stringify(JSON.parse(payload), null, 1) })",
      found_by: stories
    },
    {
      name: "an attempt of an earlier step",
      from: "(delivery.schedule_step !== schedule_step || !Delivery.isOpen(delivery))) return null",
      to: "!Delivery.isOpen(delivery)) return null",
      found_by: test(
        "packages/core/test/webhooks/testsAndReplays.test.ts",
        "restarts the schedule of a delivery that failed or is being retried"
      )
    },
    {
      name: "only the newest secret signs",
      from: "const secrets = StoredSubscription.validSecrets(subscription, now)",
      to: "const secrets = StoredSubscription.validSecrets(subscription, now).slice(0, 1)",
      found_by: test(rotation, "returns the new secret once, and both secrets sign deliveries for a day")
    }
  ],
  "consuming/Dispatcher.ts": [
    {
      name: "a hint is trusted: without one, nobody looks",
      from: "again.next(pollEveryMs)",
      to: "again.next(2 ** 31 - 1)",
      found_by: test("packages/core/test/consuming/consuming.test.ts", "finds new events even if no hint arrives")
    }
  ],
  "webhooks/records/Delivery.ts": [
    {
      name: "a retry schedule that is shifted",
      from: "retriesAfterMs[delivery.retries]",
      to: "retriesAfterMs[delivery.retries + 1]",
      found_by: test(delivering, "is retried on schedule, counted from the end of the previous attempt, and then fails")
    },
    {
      name: "waits for retries count from the start of an attempt",
      from: "next_attempt_at: outcome.ended_at + waitMs",
      to: "next_attempt_at: outcome.attempted_at + waitMs",
      found_by: test(delivering, "is retried on schedule, counted from the end of the previous attempt, and then fails")
    }
  ],
  "webhooks/records/EndpointHealth.ts": [
    {
      name: "delivery turns off one attempt late",
      from: "now - health.failing_since >= shutOffAfterMs",
      to: "now - health.failing_since > shutOffAfterMs",
      found_by: test(
        "packages/core/test/webhooks/turningOff.test.ts",
        "turn delivery off and cancel pending deliveries, until the url is set again"
      )
    }
  ],
  "webhooks/records/StoredSubscription.ts": [
    {
      name: "a secret signs at the moment it expires",
      from: "expires_at === null || now < expires_at)",
      to: "expires_at === null || now <= expires_at)",
      found_by: test(rotation, "returns the new secret once, and both secrets sign deliveries for a day")
    }
  ],
  "webhooks/WebhookSender.ts": [
    {
      name: "a redirect confirms a webhook",
      from: "status >= 200 && status < 300",
      to: "status >= 200 && status < 400",
      found_by: test(delivering, "is scheduled for a retry")
    }
  ],
  "webhooks/Signature.ts": [
    {
      name: "a signature of a minute too long ago",
      from: "if (!(ageSeconds <= tolerance))",
      to: "if (!(ageSeconds <= tolerance + 60))",
      found_by: test(
        "packages/core/test/webhooks/signature.test.ts",
        "accepts a timestamp up to five minutes off in either direction, and not a second more"
      )
    }
  ],
  "consuming/Consumer.ts": [
    {
      name: "a consumer's lease is ignored",
      from: "(lease?.holder === holder ? null : lease)",
      to: "(lease?.holder === holder ? null : null)",
      found_by: test(hosts, "handle each event once and in order, one event per workspace at a time")
    },
    {
      name: "an event is parked one attempt late",
      from: "failures >= max_attempts",
      to: "failures > max_attempts",
      found_by: test(failing, "is parked after max_attempts failures, and later events continue")
    },
    {
      name: "a consumer skips the event after one it has handled",
      from: "  ...consumer,\n  position: number,",
      to: "  ...consumer,\n  position: number + 1,",
      found_by: stories
    }
  ],
  "consuming/LeaseState.ts": [
    {
      name: "a consumer goes on after its lease has ended",
      from: ": boolean => isLost || now >= ends_at",
      to: ": boolean => isLost",
      found_by: test(hosts, "aborts its handler, and another process takes over")
    }
  ]
})
