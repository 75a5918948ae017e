import { assert, describe } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Seal, withSealing } from "../../src/access/sealing/Seal.ts"
import { kind, type Mailbox, Mailboxes } from "../../src/calls/Mailboxes.ts"
import { kinds } from "../../src/kinds.ts"
import * as Quotewire from "../../src/Quotewire.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { LongPolls, maxWaiting } from "../../src/storage/Hints.ts"
import { Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { pass, testInWorld } from "../support/world.ts"

/** A mailbox of the world's sandbox. */
const mailbox = (name: string): Effect.Effect<Mailbox, never, World> =>
  Effect.map(World, ({ organization }) => ({ workspace_id: organization.workspaces.sandbox, name }))

/** The storage as a service sees it: reads are unsealed. */
const opened = Effect.gen(function* () {
  return withSealing(yield* Storage, yield* Seal, kinds)
})

/** The stored mailbox; null if there is none. */
const held = Effect.fnUntraced(function* ({ name, workspace_id }: Mailbox) {
  const stored = yield* (yield* opened).get({ workspace_id, kind: kind.name, id: name })
  return Option.match(stored, { onNone: () => null, onSome: kind.value })
})

/** The mailboxes of another host on the same storage. */
const anotherHost = Effect.map(
  Layer.build(
    Layer.fresh(Mailboxes.layer).pipe(
      Layer.provide(Layer.fresh(LongPolls.layer)),
      Layer.provide(Layer.effect(Storage, opened))
    )
  ),
  Context.get(Mailboxes)
)

const minutesMs = 10 * 60_000

/** Waits until a call waits for a message. */
const isListening = Effect.gen(function* () {
  const longPolls = yield* LongPolls
  while ((yield* longPolls.count) === 0) yield* Effect.yieldNow
})

describe("a mailbox", () => {
  testInWorld(
    "delivers a message from one host to another waiting host, and keeps no copy",
    Effect.gen(function* () {
      const box = yield* mailbox("one")
      const waiting = yield* Effect.forkChild((yield* Mailboxes).receive(box, minutesMs))
      yield* isListening
      yield* (yield* anotherHost).send(box, "a fact")
      assert.strictEqual(yield* Fiber.join(waiting), "a fact")
      assert.deepStrictEqual(yield* held(box), { text: null })
    })
  )

  testInWorld(
    "keeps a message for a later waiter, and accepts only the first message",
    Effect.gen(function* () {
      const { receive, send } = yield* Mailboxes
      const box = yield* mailbox("two")
      yield* send(box, "first")
      yield* send(box, "second")
      assert.strictEqual(yield* receive(box, minutesMs), "first")
      yield* send(box, "third")
      assert.deepStrictEqual(yield* held(box), { text: null })
    })
  )

  testInWorld(
    "refuses messages once the mailbox has expired or the waiter has disconnected",
    Effect.gen(function* () {
      const { receive, send } = yield* Mailboxes
      const late = yield* mailbox("late")
      const waiting = yield* Effect.forkChild(receive(late, minutesMs))
      yield* isListening
      yield* TestClock.adjust(minutesMs)
      assert.isNull(yield* Fiber.join(waiting))
      const left = yield* mailbox("left")
      const leaving = yield* Effect.forkChild(receive(left, minutesMs))
      yield* isListening
      yield* Fiber.interrupt(leaving)
      for (const box of [late, left]) {
        yield* send(box, "too late")
        assert.deepStrictEqual(yield* held(box), { text: null })
      }
    })
  )

  testInWorld("delivers a message even without a hint and after a storage outage", () => {
    const { state, unlessDown } = makeOutage()
    return {
      around: (storage) => ({ ...unlessDown(storage), watch: () => Effect.void }),
      body: Effect.gen(function* () {
        const { receive, send } = yield* Mailboxes
        const box = yield* mailbox("poll")
        const waiting = yield* Effect.forkChild(receive(box, minutesMs))
        yield* isListening
        state.isDown = true
        yield* TestClock.adjust("20 seconds")
        state.isDown = false
        yield* send(box, "at last")
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* Fiber.join(waiting), "at last")
      })
    }
  })

  testInWorld("refuses messages while storage is unavailable, and tells the sender to retry", () => {
    const { state, unlessDown } = makeOutage()
    return {
      around: unlessDown,
      body: Effect.gen(function* () {
        const box = yield* mailbox("down")
        state.isDown = true
        const error = yield* Effect.flip(Quotewire.sendMessage(box, "a fact"))
        state.isDown = false
        assert.deepStrictEqual([error._tag, error.retry_after_seconds], ["service_unavailable", 1])
      })
    }
  })

  testInWorld(
    "ends a wait when the process is about to stop",
    Effect.gen(function* () {
      const { receive } = yield* Mailboxes
      const waiting = yield* Effect.forkChild(receive(yield* mailbox("stop"), minutesMs))
      yield* isListening
      yield* (yield* LongPolls).stop
      assert.isNull(yield* Fiber.join(waiting))
    })
  )

  testInWorld(
    "refuses a new wait if the process has too many waits, but continues existing waits",
    Effect.gen(function* () {
      const { receive, send } = yield* Mailboxes
      const early = yield* mailbox("early")
      const waiting = yield* Effect.forkChild(receive(early, minutesMs))
      yield* isListening
      const longPolls = yield* LongPolls
      const crowd = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: maxWaiting }, () => longPolls.listen({ ...early, id: "crowd" }, () => Effect.never)),
          { concurrency: "unbounded" }
        )
      )
      while ((yield* longPolls.count) <= maxWaiting) yield* Effect.yieldNow
      assert.isNull(yield* receive(yield* mailbox("late"), minutesMs))
      yield* TestClock.adjust("10 seconds")
      yield* send(early, "at last")
      assert.strictEqual(yield* Fiber.join(waiting), "at last")
      yield* Fiber.interrupt(crowd)
    })
  )

  testInWorld(
    "is erased within an hour if nobody waits for it",
    Effect.gen(function* () {
      const { forever } = yield* Retention
      yield* Effect.forkScoped(forever)
      const { receive, send } = yield* Mailboxes
      // In every minute of the hour, because workspaces are swept in different ones.
      for (let minutes = 0; minutes < 60; minutes += 7) {
        const [orphan, left] = [yield* mailbox(`orphan ${minutes}`), yield* mailbox(`left ${minutes}`)]
        yield* send(orphan, "a fact")
        const waiting = yield* Effect.forkChild(receive(left, minutesMs))
        yield* isListening
        yield* Fiber.interrupt(waiting)
        assert.deepStrictEqual([yield* held(orphan), yield* held(left)], [{ text: "a fact" }, { text: null }])
        yield* pass(20 * 60_000)
        assert.isNotNull(yield* held(orphan))
        yield* pass(40 * 60_000)
        assert.deepStrictEqual([yield* held(orphan), yield* held(left)], [null, null])
        yield* pass(7 * 60_000)
      }
    })
  )
})

const makeOutage = () => {
  const state = { isDown: false }
  /** A storage backend that is unreachable while `isDown` is set. */
  const unlessDown = (storage: Storage["Service"]): Storage["Service"] => {
    const gone = Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 }))
    const isOfMailbox = (record: { readonly kind: string }) => record.kind === kind.name
    return {
      ...storage,
      get: (key) => Effect.suspend(() => (state.isDown && isOfMailbox(key) ? gone : storage.get(key))),
      commit: (change) =>
        Effect.suspend(() => (state.isDown && change.writes.some(isOfMailbox) ? gone : storage.commit(change)))
    }
  }
  return { state, unlessDown }
}
