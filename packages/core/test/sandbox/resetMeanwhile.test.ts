import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { sendFeedback as sendFeedbackOperation } from "../../src/feedback/FeedbackOperations.ts"
import type { Change, StoredRecord } from "../../src/storage/Change.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { advance, beginning, type InWorld, reset, runDue } from "../support/world.ts"
import {
  create,
  disable,
  only,
  replayEvents,
  rotate,
  sendTest,
  stored,
  testWebhooks,
  update
} from "../webhooks/support.ts"

const days = 3
const day = 86_400

/** Runs something right before the next matching change is stored. */
const makeInterruption = () => {
  let next: { readonly isMeant: (change: Change) => boolean; readonly first: Effect.Effect<unknown> } | null = null
  const around = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    commit: (change) => {
      if (next?.isMeant(change) !== true) return storage.commit(change)
      const { first } = next
      next = null
      return Effect.andThen(first, storage.commit(change))
    }
  })
  const before = <A>(isMeant: (change: Change) => boolean, first: InWorld<A>): InWorld<void> =>
    Effect.contextWith((context) =>
      Effect.sync(() => {
        next = { isMeant, first: Effect.orDie(Effect.provide(first, context)) }
      })
    )
  return { around, before, isOver: () => next === null }
}

const writes =
  (kind: string, status?: string) =>
  (change: Change): boolean =>
    change.writes.some((record) => record.kind === kind && (status === undefined || record.status === status))

const nameOf = ({ id, kind, version }: StoredRecord): string => `${kind} ${id} ${version}`

const sendFeedback = Effect.flatMap(World, ({ call }) =>
  call(sendFeedbackOperation, {
    kind: "unclear_error",
    summary: "The message names no field",
    expected: "field_errors with a path",
    actual: "field_errors was null"
  })
)

/** Calls, each with the change that a reset overtakes. */
const calls: {
  readonly [name: string]: readonly [isMeant: (change: Change) => boolean, call: (id: string) => InWorld<unknown>]
} = {
  "the first step of creating a subscription": [writes("subscription", "unfinished"), () => create()],
  "the second step of creating a subscription": [writes("recipients"), () => create()],
  "a subscription change": [writes("subscription"), (id) => update(id, { event_types: ["quote_request.failed"] })],
  "disabling a subscription": [writes("subscription", "disabled"), disable],
  "the first step of a rotation": [writes("two_step_call"), rotate],
  "the second step of a rotation": [
    (change) => writes("subscription")(change) && !writes("two_step_call")(change),
    rotate
  ],
  "a test event": [writes("delivery"), sendTest],
  "a replay of events": [writes("event_replay"), () => replayEvents()],
  feedback: [writes("feedback"), () => sendFeedback]
}

describe("a call overtaken by a reset", () => {
  for (const [name, [isMeant, call]] of Object.entries(calls)) {
    const { around, before, isOver } = makeInterruption()
    testWebhooks(
      `runs again at the reset clock's time: ${name}`,
      () =>
        Effect.gen(function* () {
          const { id } = yield* create()
          yield* advance(days * day)
          let earlier: ReadonlySet<string> = new Set()
          const note = Effect.map(stored, (records) => {
            earlier = new Set(records.map(nameOf))
          })
          yield* before(isMeant, Effect.andThen(note, reset()))
          yield* Effect.exit(call(id))
          assert.isTrue(isOver())
          const ahead = (yield* stored).filter(
            (record) => !earlier.has(nameOf(record)) && Math.max(record.created_at, record.updated_at) > beginning
          )
          assert.deepStrictEqual(ahead.map(nameOf), [])
        }),
      {},
      { around }
    )
  }
})

describe("a call overtaken by an advance", () => {
  const { around, before, isOver } = makeInterruption()
  testWebhooks(
    "keeps the event time from before the advance",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create()
        yield* before(writes("delivery"), advance(day))
        const { event } = yield* sendTest(id)
        assert.isTrue(isOver())
        assert.strictEqual(event.occurred_at, new Date(beginning).toISOString())
        yield* runDue
        assert.strictEqual((yield* only(id)).status, "succeeded")
        assert.lengthOf(endpoints.sent, 1)
      }),
    {},
    { around }
  )
})
