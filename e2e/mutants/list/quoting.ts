import { inPackage, stories, test } from "../Mutant.ts"

const pending = "packages/core/test/quoting/pending.test.ts"
const asking = "packages/core/test/quoting/asking.test.ts"
const starts = "packages/core/test/quoting/starts.test.ts"
const quotes = "packages/core/test/quoting/quotes.test.ts"
const offers = "packages/core/test/quoting/offers.test.ts"
const erase = "packages/core/test/quoting/erase.test.ts"
const eraseRaces = "packages/core/test/quoting/eraseRaces.test.ts"

/** Quote requests, quotes, asks of carriers, and erasures. */
export const quoting = inPackage("core")({
  "quoting/QuoteStarts.ts": [
    {
      name: "request key used with another input",
      from: "!(yield* Fingerprint.matches(seal, RequestKey.keyOf(call, input), requestKey.fingerprint, call.sent))",
      to: "false",
      found_by: test(starts, "cannot be reused with a different input, even if only one field differs")
    },
    {
      name: "a start call on an outdated workspace",
      from: "        expects: expectationsOf(moment),\n        events",
      to: "        events",
      found_by: test(
        "packages/core/test/sandbox/cachedMoment.test.ts",
        "happens at the time to which another host has moved the clock"
      )
    }
  ],
  "quoting/Quote.ts": [
    {
      name: "a quote is available at the moment it expires",
      from: "stored.expires_at === null || now < stored.expires_at",
      to: "stored.expires_at === null || now <= stored.expires_at",
      found_by: test(quotes, "is returned as expired from its expiry time, even before storage is updated")
    }
  ],
  "quoting/QuoteChange.ts": [
    {
      name: "a quote expires a minute late",
      from: "[expiry(quote, stored.expires_at)]",
      to: "[expiry(quote, stored.expires_at + minuteMs)]",
      found_by: test(
        "packages/core/test/quoting/quotes.test.ts",
        "is returned as expired from its expiry time, even before storage is updated"
      )
    }
  ],
  "quoting/QuoteRequest.ts": [
    {
      name: "a version that does not go up",
      from: "...state(status, reason), version: request.version + 1,",
      to: "...state(status, reason), version: request.version,",
      found_by: stories
    }
  ],
  "quoting/asking/AskJobs.ts": [
    {
      name: "a duplicate of an ask that must not be made twice",
      from: 'Effect.catchTag("VersionConflict", () => Effect.succeed(false))',
      to: 'Effect.catchTag("VersionConflict", () => Effect.succeed(true))',
      found_by: stories
    },
    {
      name: "an ask that failed is repeated for any carrier",
      from: "return isTemporary && line.idempotent && ask.attempt === 1",
      to: "return isTemporary && ask.attempt === 1",
      found_by: stories
    },
    {
      name: "Retry-After of a carrier is ignored",
      from: "const pauseMs = Math.max(backoffMs, reply.retry_after_ms ?? 0)",
      to: "const pauseMs = backoffMs",
      found_by: test(asking, "is not attempted again when less than the carrier's typical response time is left")
    },
    {
      name: "a hedge after the request has ended",
      from: "        Option.exists((stored) => QuoteRequest.isPending(QuoteRequest.kind.value(stored), candidate.adapter.carrier.id))",
      to: "        Option.isSome",
      found_by: test("packages/core/test/quoting/hedges.test.ts", "is not sent once the person's data was erased")
    },
    {
      name: "an outdated request after a conflict",
      from: "      requestRead = null\n",
      to: "",
      found_by: test(asking, "is not retried after a decline or a refusal, or if the carrier is not idempotent")
    },
    {
      name: "an exchange is recorded after its facts were erased",
      from: "expects: records.length === 0 ? [] : [ApplicationRecord.factsStored(pendingAsk.request.application_id)],",
      to: "expects: [],",
      found_by: test(eraseRaces, "leaves no record of an exchange that ended concurrently")
    }
  ],
  "quoting/asking/Collecting.ts": [
    {
      name: "a request without a deadline",
      from: "jobs: [...asks, closingJob(request, deadline)]",
      to: "jobs: asks",
      found_by: stories
    }
  ],
  "quoting/asking/ReplyRules.ts": [
    {
      name: "an answer after the deadline counts",
      from: "const isLate = now > ask.deadline &&",
      to: "const isLate = now > ask.deadline + 5_000 &&",
      found_by: test(pending, "is ignored after the deadline, even if the request has not ended yet")
    },
    {
      name: "the request's event before those of its quotes",
      from: "joined([...earlierParts, last])",
      to: "joined([last, ...earlierParts])",
      found_by: test(quotes, "appears in the feed before the request version that lists it")
    },
    {
      name: "one offer more than is allowed",
      from: "const maxOffers = 10\n",
      to: "const maxOffers = 11\n",
      found_by: test("packages/core/test/quoting/faults.test.ts", "reports that only the first ten offers are used")
    }
  ],
  "quoting/asking/CarrierReferences.ts": [
    {
      name: "a carrier's number is taken from another pending ask",
      from: "if (reference !== null && (yield* isStillPending(carrierId, reference))) return false",
      to: "",
      found_by: test(
        "packages/core/test/carriers/ownNumbers.test.ts",
        "never reaches another organization's ask, even if the carrier reuses the reference"
      )
    }
  ],
  "quoting/erasing/Erasures.ts": [
    {
      name: "an erasure leaves what belongs to the application",
      from: "    yield* eraseChildren(workspace_id, application_id)\n",
      to: "",
      found_by: test(erase, "erases all sealed data of the request and its application")
    },
    {
      name: "an erasure leaves the carriers' numbers",
      from: '    yield* eraseKind({ workspace_id: directoryWorkspace, kind: CarrierReference.kind.name, parent, versions: "all" })\n',
      to: "",
      found_by: test("packages/core/test/carriers/ownNumbers.test.ts", "leaves no plain-text reference in storage")
    }
  ],
  "carriers/Offer.ts": [
    {
      name: "an offer that ends now",
      from: "rule(end > now,",
      to: "rule(end >= now,",
      found_by: test(offers, "and drops the whole answer")
    }
  ],
  "carriers/health/CarrierHealth.ts": [
    {
      name: "a carrier gets one call more than it has room for",
      from: "running < limits.max_concurrent",
      to: "running <= limits.max_concurrent",
      found_by: stories
    },
    {
      name: "a circuit opens one failure late",
      from: "failures.length >= circuitFailures",
      to: "failures.length > circuitFailures",
      found_by: test(
        "packages/core/test/quoting/circuit.test.ts",
        "opens for a minute when half of 20 asks were errors"
      )
    }
  ]
})
