import { Effect, Exit, Fiber, FiberSet, Scope } from "effect"
import type { Hint } from "../../storage/Change.ts"
import { expectRefusal, expectSame, expectSoon } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

/** Listens for hints until the scope closes, and records them. */
const listen = Effect.fnUntraced(function* (storage: StorageService) {
  const heard: Array<Hint> = []
  yield* storage.watch((hint) => heard.push(hint))
  return {
    heard,
    hasRequest: (place: number) => heard.some((hint) => hint.about === "record" && hint.id === Sample.requestId(place)),
    hasJobs: (workspaceId = Sample.home) =>
      heard.some((hint) => hint.about === "jobs" && hint.workspace_id === workspaceId)
  }
})

/** Cases for hints, which say that something has changed. */
export const hints: ReadonlyArray<Case> = [
  rule(
    "sends hints for written quote requests and quotes",
    Effect.fnUntraced(function* (storage) {
      const ear = yield* listen(storage)
      yield* storage.commit(Sample.change({ writes: [Sample.request(1)] }))
      yield* expectSoon("a hint of the request", () => ear.hasRequest(1))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(7, 2)] }))
      yield* expectSoon("a hint of the quote's request", () => ear.hasRequest(2))
      expectSame("a hint of jobs", ear.hasJobs(), false)
    })
  ),
  rule(
    "sends hints for new and finished jobs, and for a moved clock",
    Effect.fnUntraced(function* (storage) {
      const expectHint = Effect.fnUntraced(function* (subject: string, parts: Parameters<typeof Sample.change>[0]) {
        const ear = yield* listen(storage)
        yield* storage.commit(Sample.change(parts))
        yield* expectSoon(`a hint of ${subject}`, () => ear.hasJobs(parts.workspace_id))
      }, Effect.scoped)
      yield* expectHint("a new job", { jobs: [Sample.job(10)] })
      const { jobs } = yield* storage.claim(Sample.claimAt(10))
      yield* expectHint("a finished job", { finishes: jobs.map(Sample.leaseOf) })
      yield* expectHint("a clock", { clock_offset_ms: 5 })
      yield* expectHint("another workspace", { workspace_id: Sample.elsewhere, jobs: [Sample.job(10)] })
    })
  ),
  rule(
    "sends a hint for new events",
    Effect.fnUntraced(function* (storage) {
      const ear = yield* listen(storage)
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, events: [Sample.event(1)] }))
      yield* expectSoon("a hint of the feed", () =>
        ear.heard.some((hint) => hint.about === "events" && hint.workspace_id === Sample.elsewhere)
      )
    })
  ),
  rule(
    "sends a hint only after its change is stored",
    Effect.fnUntraced(function* (storage) {
      const read = storage.get({ workspace_id: Sample.home, kind: "quote_request", id: Sample.requestId(1) })
      const readsInListener: Array<Fiber.Fiber<Effect.Success<typeof read>, Effect.Error<typeof read>>> = []
      const fork = yield* FiberSet.makeRuntime()
      yield* storage.watch((hint) => {
        if (hint.about === "record" && hint.id === Sample.requestId(1)) readsInListener.push(fork(read))
      })
      yield* Effect.forkChild(storage.commit(Sample.change({ writes: [Sample.request(1)] })))
      yield* expectSoon("a hint of the request", () => readsInListener.length > 0)
      const records = yield* Effect.forEach(readsInListener, (fiber) => Fiber.join(fiber))
      expectSame(
        "what a read in the listener finds",
        records.map(({ _tag }) => _tag),
        records.map(() => "Some")
      )
    })
  ),
  rule(
    "sends no hint for a refused change",
    Effect.fnUntraced(function* (storage) {
      const ear = yield* listen(storage)
      const refused = Sample.change({ writes: [Sample.request(1, { version: 2 })], jobs: [Sample.job(1)] })
      yield* expectRefusal(storage.commit(refused), "VersionConflict")
      yield* storage.commit(Sample.change({ writes: [Sample.request(2)] }))
      yield* expectSoon("a hint of the next change", () => ear.hasRequest(2))
      expectSame("a hint of the refused change", ear.hasRequest(1) || ear.hasJobs(), false)
    })
  ),
  rule(
    "sends hints to each of several watchers until that watcher's scope closes",
    Effect.fnUntraced(function* (storage) {
      const scope = yield* Scope.make()
      const first = yield* listen(storage).pipe(Effect.provideService(Scope.Scope, scope))
      const second = yield* listen(storage)
      yield* storage.commit(Sample.change({ writes: [Sample.request(1)] }))
      yield* expectSoon("both watchers get the hint", () => first.hasRequest(1) && second.hasRequest(1))
      yield* Scope.close(scope, Exit.void)
      yield* storage.commit(Sample.change({ writes: [Sample.request(2)] }))
      yield* expectSoon("the open watcher gets the hint", () => second.hasRequest(2))
      expectSame("the closed watcher's hints", first.hasRequest(2), false)
    })
  )
]
