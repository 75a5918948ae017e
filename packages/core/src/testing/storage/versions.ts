import { Effect, Option } from "effect"
import type * as Change from "../../storage/Change.ts"
import { expectError, expectRefusal, expectSame } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

const read = (storage: StorageService, id: string, version?: number) =>
  Effect.map(
    storage.get({
      workspace_id: Sample.home,
      kind: "quote_request",
      id,
      ...(version === undefined ? {} : { version })
    }),
    Option.getOrNull
  )

const expectation = (place: number, version: number): Change.Expectation => ({
  kind: "quote_request",
  id: Sample.requestId(place),
  version
})

/** Cases for the version rule, and for changes that are stored as a whole or not at all. */
export const versions: ReadonlyArray<Case> = [
  rule(
    "reads a record as it was written",
    Effect.fnUntraced(function* (storage) {
      const full = Sample.request(1, {
        body: '{"name":"Zoë \\u0000 \\"quoted\\" 😀","price":1e21}',
        parent: "org_1",
        created_at: 1_800_000_000_123,
        updated_at: 1_800_000_000_456,
        expires_at: 1_800_000_000_789
      })
      const bare = Sample.request(2, { status: null, line: null })
      yield* storage.commit(Sample.change({ writes: [full, bare] }))
      expectSame("the full record", yield* read(storage, full.id), full)
      expectSame("a record without optional fields", yield* read(storage, bare.id), bare)
      expectSame("a record that was never written", yield* read(storage, Sample.requestId(3)), null)
    })
  ),
  rule(
    "stores fields that a record inherits or computes on access",
    Effect.fnUntraced(function* (storage) {
      const full = Sample.request(1)
      const record: Change.StoredRecord = Object.create(full)
      yield* storage.commit(Sample.change({ writes: [record] }))
      const stored = yield* read(storage, full.id)
      expectSame("the body", stored?.body, full.body)
      expectSame("the status", stored?.status, full.status)
      expectSame("the time", stored?.created_at, full.created_at)
    })
  ),
  rule(
    "accepts version 1 only if the record does not exist",
    Effect.fnUntraced(function* (storage) {
      const first = Sample.request(1)
      yield* storage.commit(Sample.change({ writes: [first] }))
      yield* expectRefusal(
        storage.commit(Sample.change({ writes: [Sample.request(1, { body: "{}" })] })),
        "VersionConflict"
      )
      expectSame("the record", yield* read(storage, first.id), first)
    })
  ),
  rule(
    "accepts version n only after version n - 1",
    Effect.fnUntraced(function* (storage) {
      const write = (version: number) => storage.commit(Sample.change({ writes: [Sample.request(1, { version })] }))
      yield* expectRefusal(write(2), "VersionConflict")
      yield* write(1)
      yield* expectRefusal(write(3), "VersionConflict")
      yield* write(2)
      yield* expectRefusal(write(2), "VersionConflict")
      yield* expectRefusal(write(1), "VersionConflict")
      yield* write(3)
      expectSame("the latest version", (yield* read(storage, Sample.requestId(1)))?.version, 3)
    })
  ),
  rule(
    "writes no part of a refused change",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ writes: [Sample.request(1)], jobs: [Sample.job(10)] }))
      const { jobs } = yield* storage.claim(Sample.claimAt(10))
      const refused = Sample.change({
        writes: [Sample.request(2), Sample.request(1, { version: 3 })],
        events: [Sample.event(1)],
        jobs: [Sample.job(1)],
        finishes: jobs.map(Sample.leaseOf),
        clock_offset_ms: 1_000_000
      })
      yield* expectRefusal(storage.commit(refused), "VersionConflict")
      expectSame("the new record", yield* read(storage, Sample.requestId(2)), null)
      expectSame("the feed", yield* storage.feed(Sample.feedOf()), { events: [], reached: 0, erased_through: 0 })
      expectSame("due work", yield* storage.claim(Sample.claimAt(1_009)), { jobs: [], next_due_at: 1_010, busy: false })
      const again = yield* storage.claim(Sample.claimAt(1_010))
      expectSame(
        "the job that was not finished",
        again.jobs,
        jobs.map((job) => ({ ...job, lease: 2, expired_leases: 1 }))
      )
      yield* storage.commit(Sample.change({ events: [Sample.event(2)] }))
      expectSame("the first event number", (yield* storage.feed(Sample.feedOf())).events[0]?.number, 1)
    })
  ),
  rule(
    "reports a conflict for the first write that skips or repeats a version",
    Effect.fnUntraced(function* (storage) {
      const writes = [Sample.request(1), Sample.quote(5, 1, { version: 2 }), Sample.request(3, { version: 9 })]
      const error = yield* expectRefusal(storage.commit(Sample.change({ writes })), "VersionConflict")
      expectError(error, { _tag: "VersionConflict", kind: "quote", id: Sample.quoteId(5) })
    })
  ),
  rule(
    "refuses a change if an expected record has a different version",
    Effect.fnUntraced(function* (storage) {
      const commitExpecting = (version: number, event: number) =>
        storage.commit(
          Sample.change({
            expects: [expectation(1, version)],
            writes: [Sample.request(10 + event)],
            events: [Sample.event(event)]
          })
        )
      for (const version of [0, 1, 2]) {
        for (const otherVersion of [0, 1, 2, 3]) {
          if (otherVersion === version) continue
          const error = yield* expectRefusal(commitExpecting(otherVersion, 9), "VersionConflict")
          expectError(error, { _tag: "VersionConflict", kind: "quote_request", id: Sample.requestId(1) })
        }
        yield* commitExpecting(version, version)
        yield* storage.commit(Sample.change({ writes: [Sample.request(1, { version: version + 1 })] }))
      }
      expectSame("what the refused change would have written", yield* read(storage, Sample.requestId(19)), null)
      const { events } = yield* storage.feed(Sample.feedOf())
      expectSame(
        "the events",
        events.map(({ number, id }) => [number, id]),
        [0, 1, 2].map((event) => [event + 1, Sample.event(event).id])
      )
    })
  ),
  rule(
    "distinguishes expected records by workspace and kind",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, writes: [Sample.request(1)] }))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(1, 1, { id: Sample.requestId(1) })] }))
      yield* storage.commit(Sample.change({ expects: [expectation(1, 0)], events: [Sample.event(1)] }))
      yield* expectRefusal(storage.commit(Sample.change({ expects: [expectation(1, 1)] })), "VersionConflict")
    })
  ),
  rule(
    "accepts a change that both expects and writes a record",
    Effect.fnUntraced(function* (storage) {
      const step = (startVersion: number) =>
        storage.commit(
          Sample.change({
            expects: [expectation(1, startVersion)],
            writes: [Sample.request(1, { version: startVersion + 1 })]
          })
        )
      yield* step(0)
      yield* step(1)
      yield* expectRefusal(step(1), "VersionConflict")
      expectSame("the latest version", (yield* read(storage, Sample.requestId(1)))?.version, 2)
    })
  ),
  rule(
    "reports lost leases before failed expectations, and failed expectations before failed writes",
    Effect.fnUntraced(function* (storage) {
      const lease = { workspace_id: Sample.home, number: 1, lease: 1 }
      const change = Sample.change({
        expects: [expectation(1, 0), expectation(3, 1), expectation(2, 1)],
        writes: [Sample.request(4, { version: 2 })]
      })
      yield* expectRefusal(storage.commit({ ...change, finishes: [lease] }), "LeaseLost")
      const error = yield* expectRefusal(storage.commit(change), "VersionConflict")
      expectError(error, { _tag: "VersionConflict", kind: "quote_request", id: Sample.requestId(3) })
    })
  ),
  rule(
    "refuses only the concurrent changes whose expectations fail",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ writes: [Sample.request(1), Sample.request(2)] }))
      const place = (version: number) => (version === 1 ? 1 : 2)
      const stored = yield* Effect.forEach(
        Sample.range(1, 40),
        (writer) =>
          storage
            .commit(
              Sample.change({
                workspace_id: writer % 4 === 3 ? Sample.elsewhere : Sample.home,
                expects: [expectation(1, 1), expectation(place(writer % 2), writer % 2)],
                events: [Sample.event(writer)]
              })
            )
            .pipe(
              Effect.as([writer]),
              Effect.catchTag("VersionConflict", () => Effect.succeed([]))
            ),
        { concurrency: "unbounded" }
      )
      const expected = Sample.range(1, 40).filter((writer) => writer % 4 === 1)
      expectSame("the stored changes", stored.flat(), expected)
      const { events } = yield* storage.feed(Sample.feedOf())
      expectSame(
        "the numbers",
        events.map(({ number }) => number),
        Sample.range(1, expected.length)
      )
    })
  ),
  rule(
    "stores only one of two concurrent changes that each expect a record that the other change writes",
    Effect.fnUntraced(function* (storage) {
      const crossed = (from: number, to: number) =>
        storage.commit(Sample.change({ expects: [expectation(from, 0)], writes: [Sample.request(to)] })).pipe(
          Effect.as(1),
          Effect.catchTag("VersionConflict", () => Effect.succeed(0))
        )
      for (const place of Sample.range(1, 9)) {
        const both = [crossed(place, place + 10), crossed(place + 10, place)]
        const stored = yield* Effect.all(both, { concurrency: "unbounded" })
        expectSame("which changes are stored", stored.toSorted(), [0, 1])
      }
    })
  ),
  rule(
    "numbers a change's events before the events of a change that overwrites its expected record",
    Effect.fnUntraced(function* (storage) {
      for (const version of Sample.range(0, 9)) {
        const change = { writes: [Sample.request(1, { version: version + 1 })], events: [Sample.event(1, 1)] }
        const written = storage.commit(Sample.change(change))
        const expecting = storage.commit(
          Sample.change({ expects: [expectation(1, version)], events: [Sample.event(1, 2)] })
        )
        const refused = Effect.catchTag(expecting, "VersionConflict", () => Effect.void)
        const { events: eventsBefore } = yield* storage.feed(Sample.feedOf())
        yield* Effect.all([refused, written, refused], { concurrency: "unbounded" })
        const { events } = yield* storage.feed(Sample.feedOf())
        const last = events.slice(eventsBefore.length).map(({ occurred_at }) => occurred_at)
        expectSame("the order of the events", last.at(-1), 1)
      }
    })
  ),
  rule(
    "refuses a change if its expected record was overwritten, even almost simultaneously",
    Effect.fnUntraced(function* (storage) {
      // A change that expects a version must be refused if the next version was written before it commits.
      for (const version of Sample.range(0, 9)) {
        const order: Array<string> = []
        const write = Effect.andThen(
          storage.commit(Sample.change({ writes: [Sample.request(1, { version: version + 1 })] })),
          Effect.sync(() => order.push("written"))
        )
        const nextStep = Effect.suspend(() => {
          const isOver = order.includes("written")
          return storage.commit(Sample.change({ expects: [expectation(1, version)], events: [Sample.event(1)] })).pipe(
            Effect.as("stored"),
            Effect.catchTag("VersionConflict", () => Effect.succeed("refused")),
            Effect.map((outcome) => !(isOver && outcome === "stored"))
          )
        })
        const steps = Effect.forEach(Sample.range(1, 5), () => nextStep)
        const [, first, second] = yield* Effect.all([write, steps, steps], { concurrency: "unbounded" })
        const last = yield* nextStep
        expectSame("steps before and after the write", [...first, ...second, last].includes(false), false)
      }
    })
  ),
  rule(
    "refuses a change that writes a record twice",
    Effect.fnUntraced(function* (storage) {
      const twice = (secondNumber: number) =>
        storage.commit(Sample.change({ writes: [Sample.quote(1, 1), Sample.quote(1, 1, { version: secondNumber })] }))
      yield* expectRefusal(twice(1), "VersionConflict")
      yield* expectRefusal(twice(2), "VersionConflict")
      const page = yield* storage.page(Sample.pageOf({ kind: "quote" }))
      expectSame("the quotes", page, { records: [], next: null })
    })
  ),
  rule(
    "keeps every version of a quote, but only the latest version of other records",
    Effect.fnUntraced(function* (storage) {
      for (const version of [1, 2, 3]) {
        const writes = [Sample.request(1, { version }), Sample.quote(1, 1, { version })]
        yield* storage.commit(Sample.change({ writes }))
      }
      for (const version of [1, 2, 3]) {
        const record = yield* storage.get({ workspace_id: Sample.home, kind: "quote", id: Sample.quoteId(1), version })
        expectSame(`quote version ${version}`, Option.getOrNull(record), Sample.quote(1, 1, { version }))
      }
      const absent = yield* storage.get({ workspace_id: Sample.home, kind: "quote", id: Sample.quoteId(1), version: 4 })
      expectSame("a version that is not written yet", Option.getOrNull(absent), null)
      const beyond = { workspace_id: Sample.home, kind: "quote", id: Sample.quoteId(1) } as const
      const never = yield* storage.get({ ...beyond, version: Number.MAX_SAFE_INTEGER })
      expectSame("a version far beyond the latest", Option.getOrNull(never), null)
      expectSame("an older version", yield* read(storage, Sample.requestId(1), 2), null)
      expectSame(
        "the latest version, read by number",
        yield* read(storage, Sample.requestId(1), 3),
        Sample.request(1, { version: 3 })
      )
      const page = yield* storage.page(Sample.pageOf({ kind: "quote" }))
      expectSame("a page", page.records, [Sample.quote(1, 1, { version: 3 })])
    })
  ),
  rule(
    "separates records by workspace and kind",
    Effect.fnUntraced(function* (storage) {
      const id = "same"
      yield* storage.commit(Sample.change({ writes: [Sample.request(1, { id, body: "1" })] }))
      yield* storage.commit(
        Sample.change({ writes: [Sample.request(1, { kind: "idempotency_record", id, body: "2" })] })
      )
      yield* storage.commit(
        Sample.change({ workspace_id: Sample.elsewhere, writes: [Sample.request(1, { id, body: "3" })] })
      )
      expectSame("the records of the workspace", (yield* read(storage, id))?.body, "1")
      const page = yield* storage.page(Sample.pageOf({ workspace_id: Sample.elsewhere }))
      expectSame(
        "elsewhere",
        page.records.map(({ body }) => body),
        ["3"]
      )
    })
  ),
  rule(
    "stores only one of many concurrent changes that write the same version",
    Effect.fnUntraced(function* (storage) {
      const writers = Sample.range(1, 20)
      const write = (writer: number, version: number) =>
        storage
          .commit(Sample.change({ writes: [Sample.request(1, { version })], events: [Sample.event(writer)] }))
          .pipe(
            Effect.as(1),
            Effect.catchTag("VersionConflict", () => Effect.succeed(0))
          )
      for (const version of [1, 2, 3]) {
        const stored = yield* Effect.forEach(writers, (writer) => write(writer, version), { concurrency: "unbounded" })
        expectSame(
          `stored of version ${version}`,
          stored.reduce((sum, count) => sum + count, 0),
          1
        )
      }
      const { events } = yield* storage.feed(Sample.feedOf())
      expectSame(
        "the numbers",
        events.map(({ number }) => number),
        [1, 2, 3]
      )
    })
  )
]
