import { assert, describe } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Environment, KeyKind } from "../../src/access/Caller.ts"
import { standardLimits } from "../../src/access/limits/Allowance.ts"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import type { AskedRevision } from "../../src/calls/Revision.ts"
import * as operations from "../../src/operations.ts"
import { type RecordKey, Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import * as ApiError from "../../src/wire/ApiError.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import { reset, start, testInWorld } from "../support/world.ts"
import { create, endpoints, sendTest, update } from "../webhooks/support.ts"
import { newer, older, two } from "./inventedRevision.ts"
import { release } from "./release.ts"

interface Asking {
  /** The `Service-Version` to send; none by default. */
  readonly revision?: AskedRevision
  readonly environment?: Environment
  readonly as?: KeyKind
  readonly key?: string
  readonly body?: Effect.Effect<unknown, ApiError.ApiError>
}

/** Lists requests, and returns the outcome, `ok` or the refusal's code, and the revision of the answer. */
const ask = Effect.fnUntraced(function* (asking: Asking = {}) {
  const { keys } = yield* World
  return yield* Pipeline.call(operations.listQuoteRequests, {
    request_id: RequestId.make("req_00000000000000000000000001"),
    credentials: {
      key: asking.key ?? keys[asking.environment ?? "sandbox"][asking.as ?? "server"],
      read_handle: null,
      address: "",
      keyless: false
    },
    revision: asking.revision ?? { header: null },
    idempotency_key: null,
    input: asking.body ?? Effect.succeed({})
  }).pipe(
    Effect.match({
      onSuccess: ({ revision }) => `ok ${revision}`,
      onFailure: ({ _tag, revision }) => `${_tag} ${revision}`
    })
  )
})

/** The stored pin; null if there is none. */
const stored = (environment: Environment = "sandbox") =>
  Effect.gen(function* () {
    const { organization } = yield* World
    const workspace_id = organization.workspaces[environment]
    const record = yield* (yield* Storage).get({ workspace_id, kind: "pin", id: workspace_id })
    return Option.match(record, { onNone: () => null, onSome: ({ body }) => JSON.parse(body).revision })
  })

/** The next release, in which the current form has a newer date. */
const next = release(two)

const tooLarge = Effect.fail(ApiError.make("request_too_large"))
const broken = Effect.fail(ApiError.make("invalid_json"))

describe("a workspace's pinned revision", () => {
  testInWorld(
    "is set by the first request without a revision header, and kept for later requests",
    Effect.gen(function* () {
      assert.strictEqual(yield* ask(), `ok ${older}`)
      assert.strictEqual(yield* stored(), older)
      assert.strictEqual(yield* next(ask()), `ok ${older}`)
      assert.strictEqual(yield* next(ask({ as: "widget" })), `forbidden ${older}`)
      assert.strictEqual(yield* stored(), older)
    })
  )

  testInWorld(
    "is not set by a request that names a revision, or by a host that always uses the newest revision",
    Effect.gen(function* () {
      assert.strictEqual(yield* next(ask({ revision: { header: older } })), `ok ${older}`)
      assert.strictEqual(yield* next(ask({ revision: "current" })), `ok ${newer}`)
      assert.isNull(yield* stored())
      yield* ask()
      assert.strictEqual(yield* next(ask({ revision: { header: newer } })), `ok ${newer}`)
      assert.strictEqual(yield* next(ask({ revision: "current" })), `ok ${newer}`)
      assert.strictEqual(yield* next(ask()), `ok ${older}`)
    })
  )

  const failing: ReadonlyArray<readonly [string, Asking, string]> = [
    ["403", { as: "widget" }, `forbidden ${newer}`],
    ["422", { body: Effect.succeed({ limit: 0 }) }, `invalid_input ${newer}`],
    ["400 invalid_cursor", { body: Effect.succeed({ cursor: "x" }) }, `invalid_cursor ${newer}`],
    ["400 invalid_json", { body: broken }, `invalid_json ${newer}`],
    ["500", { body: Effect.die("a defect") }, `internal_error ${newer}`]
  ]
  for (const [what, asking, expected] of failing) {
    testInWorld(
      `is stored even if the first request is refused with ${what}, and applies to the refusal`,
      Effect.gen(function* () {
        assert.strictEqual(yield* ask(asking), expected)
        assert.strictEqual(yield* stored(), newer)
      }),
      { served: two }
    )
  }

  testInWorld(
    "is stored even if the first request is over its rate limit",
    Effect.gen(function* () {
      yield* Effect.forEach(Array.from({ length: 600 }), () => ask({ revision: { header: older } }), { discard: true })
      assert.isNull(yield* stored())
      assert.strictEqual(yield* ask(), `rate_limited ${newer}`)
      assert.strictEqual(yield* stored(), newer)
    }),
    { served: two, limits: standardLimits }
  )

  const early: ReadonlyArray<readonly [string, Asking, string]> = [
    ["401", { key: "sandbox_server_x" }, "authentication_failed null"],
    ["400 invalid_version for an empty header", { revision: { header: "" } }, "invalid_version null"],
    ["400 invalid_version for an unknown revision", { revision: { header: "2020-01-01" } }, "invalid_version null"],
    ["413", { body: tooLarge }, "request_too_large null"]
  ]
  for (const [what, asking, expected] of early) {
    testInWorld(
      `is not stored if the first request is refused with ${what}`,
      Effect.gen(function* () {
        assert.strictEqual(yield* ask(asking), expected)
        assert.isNull(yield* stored())
      })
    )
  }

  testInWorld(
    "survives a reset",
    Effect.gen(function* () {
      yield* ask()
      yield* reset()
      assert.strictEqual(yield* stored(), older)
      assert.strictEqual(yield* next(ask()), `ok ${older}`)
    })
  )

  testInWorld(
    "is the same for all concurrent first requests, even on hosts with different revisions",
    Effect.gen(function* () {
      const asked = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? ask() : next(ask()))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(asked), new Set([`ok ${yield* stored()}`]))
    })
  )

  testInWorld(
    "is copied from the sandbox by the first live request",
    Effect.gen(function* () {
      yield* ask()
      assert.strictEqual(yield* next(ask({ environment: "live" })), `ok ${older}`)
      assert.strictEqual(yield* stored("live"), older)
    })
  )

  testInWorld(
    "does not change in the live workspace when the sandbox is pinned later",
    Effect.gen(function* () {
      assert.strictEqual(yield* ask({ environment: "live" }), `ok ${older}`)
      assert.strictEqual(yield* next(ask()), `ok ${newer}`)
      assert.strictEqual(yield* next(ask({ environment: "live" })), `ok ${older}`)
    })
  )

  testInWorld(
    "falls back to the oldest served revision once the pinned revision is removed",
    Effect.gen(function* () {
      yield* ask()
      assert.strictEqual(yield* release([{ date: newer, differences: [] }])(ask()), `ok ${newer}`)
      assert.strictEqual(yield* stored(), older)
    })
  )
})

describe("a storage outage", () => {
  const down = Effect.fail(new StorageUnavailable({ retry_after_seconds: 3 }))
  const isPin = ({ kind }: Pick<RecordKey, "kind">) => kind === "pin"

  testInWorld("causes a 503 if the pinned revision cannot be read, and delays storing a new pin", () => {
    const outage = { reads: false, writes: false }
    const around = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      get: (key) => (outage.reads && isPin(key) ? down : storage.get(key)),
      commit: (change) => (outage.writes && change.writes.some(isPin) ? down : storage.commit(change))
    })
    return {
      around,
      served: two,
      body: Effect.gen(function* () {
        outage.reads = true
        assert.strictEqual(yield* ask(), "service_unavailable null")
        assert.strictEqual(yield* ask({ revision: { header: older } }), `ok ${older}`)
        outage.reads = false
        outage.writes = true
        assert.strictEqual(yield* ask(), `ok ${newer}`)
        assert.isNull(yield* stored())
        outage.writes = false
        assert.strictEqual(yield* ask(), `ok ${newer}`)
        assert.strictEqual(yield* stored(), newer)
        // The pin is cached now, so storage does not matter.
        outage.reads = true
        assert.strictEqual(yield* ask(), `ok ${newer}`)
      })
    }
  })
})

describe("the first webhook event or test event", () => {
  const webhooks = endpoints()
  const named = { revision: older }

  testInWorld(
    "pins the workspace's revision if no request has pinned a revision",
    Effect.gen(function* () {
      yield* create({ event_types: ["quote_request.queued"] }, named)
      yield* start({}, named)
      assert.strictEqual(yield* stored(), older)
      const live = { environment: "live", ...named } as const
      const other = yield* create({}, live)
      yield* update(other.id, { event_types: ["quote.created"] }, live)
      yield* start({}, live)
      assert.isNull(yield* stored("live"))
      yield* sendTest(other.id, live)
      assert.strictEqual(yield* stored("live"), older)
    }),
    { webhooks: webhooks.layer }
  )
})
