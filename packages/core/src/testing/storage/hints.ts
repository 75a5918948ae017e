import { Effect, Exit, Scope } from "effect"
import type { Hint } from "../../storage/Change.ts"
import { expectRefusal, expectSame, expectSoon } from "./expect.ts"
import { type Case, rule, type StorageService } from "./rule.ts"
import * as Sample from "./samples.ts"

/** Listens until the scope closes; answers whether a hint has been heard. */
const listen = Effect.fnUntraced(function* (storage: StorageService) {
  const heard: Array<Hint> = []
  yield* storage.watch((hint) => heard.push(hint))
  return {
    heard,
    hasRequest: (place: number) => heard.some((hint) => hint.about === "record" && hint.id === Sample.requestId(place)),
    hasJobs: (workspace_id = Sample.home) =>
      heard.some((hint) => hint.about === "jobs" && hint.workspace_id === workspace_id)
  }
})

/** Hints that something has changed. */
export const hints: ReadonlyArray<Case> = [
  rule(
    "who watches hears of quote requests and quotes that were written",
    Effect.fnUntraced(function* (storage) {
      const ear = yield* listen(storage)
      yield* storage.commit(Sample.change({ writes: [Sample.request(1)] }))
      yield* expectSoon("the request is told", () => ear.hasRequest(1))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(7, 2)] }))
      yield* expectSoon("the request of the quote is told", () => ear.hasRequest(2))
      expectSame("jobs are told", ear.hasJobs(), false)
    })
  ),
  rule(
    "who watches hears when work was added or finished, and when a clock was moved",
    Effect.fnUntraced(function* (storage) {
      const told = Effect.fnUntraced(function* (what: string, parts: Parameters<typeof Sample.change>[0]) {
        const ear = yield* listen(storage)
        yield* storage.commit(Sample.change(parts))
        yield* expectSoon(`${what} is told`, () => ear.hasJobs(parts.workspace_id))
      }, Effect.scoped)
      yield* told("a new job", { jobs: [Sample.job(10)] })
      const { jobs } = yield* storage.claim(Sample.claimAt(10))
      yield* told("a finished job", { finishes: jobs.map(Sample.leaseOf) })
      yield* told("a clock", { clock_offset_ms: 5 })
      yield* told("another workspace", { workspace_id: Sample.elsewhere, jobs: [Sample.job(10)] })
    })
  ),
  rule(
    "who hears a hint finds what it tells of",
    Effect.fnUntraced(function* (storage) {
      const ear = yield* listen(storage)
      const read = storage.get({ workspace_id: Sample.home, kind: "quote_request", id: Sample.requestId(1) })
      yield* Effect.forkChild(storage.commit(Sample.change({ writes: [Sample.request(1)] })))
      yield* expectSoon("the request is told", () => ear.hasRequest(1))
      expectSame("it is stored", (yield* read)._tag, "Some")
    })
  ),
  rule(
    "a refused change is not told",
    Effect.fnUntraced(function* (storage) {
      const ear = yield* listen(storage)
      const refused = Sample.change({ writes: [Sample.request(1, { version: 2 })], jobs: [Sample.job(1)] })
      yield* expectRefusal(storage.commit(refused), "VersionConflict")
      yield* storage.commit(Sample.change({ writes: [Sample.request(2)] }))
      yield* expectSoon("the next change is told", () => ear.hasRequest(2))
      expectSame("the refused one is told", ear.hasRequest(1) || ear.hasJobs(), false)
    })
  ),
  rule(
    "several can watch, each until its scope closes",
    Effect.fnUntraced(function* (storage) {
      const scope = yield* Scope.make()
      const first = yield* listen(storage).pipe(Effect.provideService(Scope.Scope, scope))
      const second = yield* listen(storage)
      yield* storage.commit(Sample.change({ writes: [Sample.request(1)] }))
      yield* expectSoon("both are told", () => first.hasRequest(1) && second.hasRequest(1))
      yield* Scope.close(scope, Exit.void)
      yield* storage.commit(Sample.change({ writes: [Sample.request(2)] }))
      yield* expectSoon("the other is told", () => second.hasRequest(2))
      expectSame("the closed one is told", first.hasRequest(2), false)
    })
  )
]
