import { Effect, Option } from "effect"
import { kinds } from "../../kinds.ts"
import { directoryWorkspace } from "../../storage/Storage.ts"
import { expectRefusal, expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

const names = kinds.all.map(({ name }) => name)

const eraseHome = { what: "workspace", workspace_id: Sample.home } as const

const eraseRequests = (storage: StorageService, created_before: number, limit = 100) =>
  storage.erase({ what: "records", workspace_id: Sample.home, kind: "quote_request", created_before, limit })

const eraseEvents = (storage: StorageService, occurred_before: number, limit = 100) =>
  storage.erase({ what: "events", workspace_id: Sample.home, occurred_before, limit })

const requests = (storage: StorageService) =>
  Effect.map(storage.page(Sample.pageOf()), ({ records }) => records.map(({ id }) => id))

/** Cases for resets and retention. */
export const erasure: ReadonlyArray<Case> = [
  rule(
    "erases a workspace except the records that survive a reset",
    Effect.fnUntraced(function* (storage) {
      const writes = names.map((kind, index) => Sample.request(index, { kind, id: "one" }))
      const full = { writes, events: [Sample.event(1), Sample.event(2)], jobs: [Sample.job(10), Sample.timer(10)] }
      yield* storage.commit(Sample.change(full))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, ...full }))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(0, 0, { id: "one", version: 2 })] }))
      const erased = yield* storage.erase(eraseHome)
      const gone = names.filter((kind) => !kinds.byName(kind).survives_reset)
      expectSame("the counts", erased, {
        records: Object.fromEntries(gone.map((kind) => [kind, 1])),
        events: 2,
        jobs: 2
      })
      for (const kind of names) {
        const record = yield* storage.get({ workspace_id: Sample.home, kind, id: "one" })
        expectSame(`${kind} is there`, Option.isSome(record), kinds.byName(kind).survives_reset)
        const there = yield* storage.get({ workspace_id: Sample.elsewhere, kind, id: "one" })
        expectSame(`${kind} is there elsewhere`, Option.isSome(there), true)
      }
      const older = yield* storage.get({ workspace_id: Sample.home, kind: "quote", id: "one", version: 1 })
      expectSame("the older version is there", Option.isSome(older), false)
      const { jobs } = yield* storage.claim(Sample.claimAt(100))
      expectSame(
        "jobs",
        jobs.map(({ workspace_id }) => workspace_id),
        [Sample.elsewhere, Sample.elsewhere]
      )
    })
  ),
  rule(
    "refuses to finish a job whose workspace was erased, even if a new job has the same number",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.job(10), Sample.timer(20)] }))
      const claimBefore = yield* storage.claim(Sample.claimAt(100))
      expectSame("jobs", (yield* storage.erase(eraseHome)).jobs, 2)
      yield* storage.commit(Sample.change({ jobs: [Sample.job(10), Sample.timer(20)] }))
      const claimAfter = yield* storage.claim(Sample.claimAt(100))
      expectSame("the new jobs", Sample.dueTimes(claimAfter.jobs), [10, 20])
      for (const job of claimBefore.jobs) {
        const outcome = Sample.change({ writes: [Sample.request(1)], finishes: [Sample.leaseOf(job)] })
        yield* expectRefusal(storage.commit(outcome), "LeaseLost")
      }
      yield* storage.release(claimBefore.jobs.map(Sample.leaseOf))
      for (const job of claimAfter.jobs) yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)] }))
      expectSame("the records, because nothing was written", yield* requests(storage), [])
    })
  ),
  rule(
    "erases a workspace only if every expected record has the expected version",
    Effect.fnUntraced(function* (storage) {
      const { kind, id } = Sample.request(1)
      const full = { writes: [Sample.request(1)], events: [Sample.event(1)], jobs: [Sample.job(10)] }
      yield* storage.commit(Sample.change(full))
      const none = { kind, id: Sample.requestId(2), version: 0 }
      for (const expects of [[{ kind, id, version: 2 }], [none, { kind, id, version: 0 }], [{ ...none, version: 1 }]]) {
        const refused = yield* expectRefusal(storage.erase({ ...eraseHome, expects }), "VersionConflict")
        const changed = expects.at(-1)
        const conflict = refused._tag === "VersionConflict" ? [refused.kind, refused.id] : []
        expectSame("the record that has changed", conflict, [changed?.kind, changed?.id])
      }
      expectSame("the request is there", yield* requests(storage), [id])
      expectSame("the events are there", (yield* storage.feed(Sample.feedOf())).events.length, 1)
      const erased = yield* storage.erase({ ...eraseHome, expects: [none, { kind, id, version: 1 }] })
      expectSame("what was erased", erased, { records: { [kind]: 1 }, events: 1, jobs: 1 })
      expectSame("the request is gone", yield* requests(storage), [])
    })
  ),
  rule(
    "continues the event numbers after an erasure",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ events: [Sample.event(1), Sample.event(2)] }))
      yield* storage.erase(eraseHome)
      expectSame("the empty feed", yield* storage.feed(Sample.feedOf()), {
        events: [],
        reached: 2,
        erased_through: 2
      })
      yield* storage.commit(Sample.change({ events: [Sample.event(3)] }))
      const feed = yield* storage.feed(Sample.feedOf())
      expectSame("the feed", feed, { events: [{ ...Sample.event(3), number: 3 }], reached: 3, erased_through: 2 })
      expectSame("an empty erasure", (yield* eraseEvents(storage, 0)).events, 0)
    })
  ),
  rule(
    "keeps the clock of an erased workspace",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ clock_offset_ms: 1_000 }))
      yield* storage.erase(eraseHome)
      yield* storage.commit(Sample.change({ jobs: [Sample.job(5_000), Sample.timer(5_500)] }))
      expectSame("next_due_at", (yield* storage.claim(Sample.claimAt(0))).next_due_at, 4_000)
    })
  ),
  rule(
    "erases records with equal times in order of their ids",
    Effect.fnUntraced(function* (storage) {
      for (const place of [3, 1, 2]) {
        yield* storage.commit(Sample.change({ writes: [Sample.request(place, { created_at: 10 })] }))
      }
      expectSame("how many records were erased", (yield* eraseRequests(storage, 11, 2)).records, { quote_request: 2 })
      expectSame("the remaining records", yield* requests(storage), [Sample.requestId(3)])
    })
  ),
  rule(
    "erases records created before a time, oldest first, up to the limit",
    Effect.fnUntraced(function* (storage) {
      const writes = [40, 10, 30, 20].map((created_at, index) => Sample.request(index + 1, { created_at }))
      yield* storage.commit(
        Sample.change({ writes: [...writes, Sample.request(1, { kind: "idempotency_record", created_at: 1 })] })
      )
      expectSame("an erasure with an earlier limit", yield* eraseRequests(storage, 10), {
        records: {},
        events: 0,
        jobs: 0
      })
      expectSame("two", (yield* eraseRequests(storage, 40, 2)).records, { quote_request: 2 })
      expectSame("the remaining records", yield* requests(storage), [1, 3].map(Sample.requestId))
      expectSame("one", (yield* eraseRequests(storage, 40, 2)).records, { quote_request: 1 })
      expectSame("the remaining record", yield* requests(storage), [Sample.requestId(1)])
      expectSame(
        "records of another kind",
        (yield* storage.page(Sample.pageOf({ kind: "idempotency_record" }))).records.length,
        1
      )
    })
  ),
  rule(
    "erases a quote request together with its children, and nothing else",
    Effect.fnUntraced(function* (storage) {
      const belongs = (place: number) => Sample.request(place, { parent: Sample.requestId(place), created_at: 9_000 })
      const writes = [1, 2].flatMap((place) => [
        Sample.request(place, { created_at: place * 10 }),
        { ...belongs(place), kind: "application", id: `app_${place}` } as const,
        { ...belongs(place), kind: "offer", id: `offer_${place}` } as const,
        Sample.quote(place, place, { created_at: 9_000 }),
        Sample.quote(place + 10, place, { created_at: 1 }),
        Sample.request(place, { kind: "idempotency_record", id: `answer_${place}`, parent: Sample.quoteId(place) })
      ])
      yield* storage.commit(Sample.change({ writes }))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(1, 1, { version: 2 })] }))
      const erased = yield* eraseRequests(storage, 20)
      expectSame("the counts", erased.records, { quote_request: 1, application: 1, offer: 1, quote: 2 })
      for (const kind of ["quote_request", "application", "offer"] as const) {
        expectSame(kind, (yield* storage.page(Sample.pageOf({ kind }))).records.length, 1)
      }
      const quotes = yield* storage.page(Sample.pageOf({ kind: "quote" }))
      expectSame(
        "quotes",
        quotes.records.map(({ id }) => id),
        [2, 12].map(Sample.quoteId)
      )
      const older = yield* storage.get({ workspace_id: Sample.home, kind: "quote", id: Sample.quoteId(1), version: 1 })
      expectSame("an older version", Option.isSome(older), false)
      expectSame("answers", (yield* storage.page(Sample.pageOf({ kind: "idempotency_record" }))).records.length, 2)
    })
  ),
  rule(
    "erases no children of another kind, and accepts version 1 of an erased record again",
    Effect.fnUntraced(function* (storage) {
      const child = Sample.request(1, { kind: "offer", parent: Sample.quoteId(1) })
      yield* storage.commit(Sample.change({ writes: [Sample.request(1), Sample.quote(1, 1), child] }))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(1, 1, { version: 2 })] }))
      const oldQuotes = {
        what: "records",
        workspace_id: Sample.home,
        kind: "quote",
        created_before: 9_000,
        limit: 9
      } as const
      expectSame("the counts", (yield* storage.erase(oldQuotes)).records, { quote: 1 })
      expectSame("the request stays", yield* requests(storage), [Sample.requestId(1)])
      expectSame("records that name it stay", (yield* storage.page(Sample.pageOf({ kind: "offer" }))).records.length, 1)
      yield* expectRefusal(
        storage.commit(Sample.change({ writes: [Sample.quote(1, 1, { version: 3 })] })),
        "VersionConflict"
      )
      yield* storage.commit(Sample.change({ writes: [Sample.quote(1, 1, { body: '"new"' })] }))
      const page = yield* storage.page(Sample.pageOf({ kind: "quote", parent: Sample.requestId(1) }))
      expectSame(
        "the new quote",
        page.records.map(({ body }) => body),
        ['"new"']
      )
    })
  ),
  rule(
    "erases every version of one parent's records of one kind, and nothing else",
    Effect.fnUntraced(function* (storage) {
      const offer = (place: number, parent: number) =>
        Sample.request(place, { kind: "offer", id: `offer_${place}`, parent: Sample.requestId(parent) })
      const writes = [Sample.request(1), Sample.quote(1, 1), Sample.quote(2, 2), offer(1, 1), offer(2, 1), offer(3, 2)]
      yield* storage.commit(Sample.change({ writes }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, writes }))
      yield* storage.commit(Sample.change({ writes: [Sample.quote(1, 1, { version: 2 })] }))
      const children = { what: "children", workspace_id: Sample.home, versions: "all" } as const
      const query = { ...children, parent: Sample.requestId(1) }
      expectSame("the offers", (yield* storage.erase({ ...query, kind: "offer" })).records, { offer: 2 })
      expectSame("the quotes", (yield* storage.erase({ ...query, kind: "quote" })).records, { quote: 1 })
      const again = yield* storage.erase({ ...query, kind: "quote" })
      expectSame("again", (again.records.quote ?? 0) + again.events + again.jobs, 0)
      for (const version of [1, 2]) {
        const key = { workspace_id: Sample.home, kind: "quote", id: Sample.quoteId(1), version }
        expectSame(`version ${version}`, Option.isSome(yield* storage.get(key)), false)
      }
      const recordsLeft = (workspace_id: typeof Sample.home, kind: string) =>
        Effect.map(storage.page(Sample.pageOf({ workspace_id, kind })), ({ records }) => records.map(({ id }) => id))
      expectSame("the request stays", yield* recordsLeft(Sample.home, "quote_request"), [Sample.requestId(1)])
      expectSame("other quotes stay", yield* recordsLeft(Sample.home, "quote"), [Sample.quoteId(2)])
      expectSame("other offers stay", yield* recordsLeft(Sample.home, "offer"), ["offer_3"])
      expectSame("elsewhere", (yield* recordsLeft(Sample.elsewhere, "offer")).length, 3)
    })
  ),
  rule(
    "can erase only the older versions of a parent's records",
    Effect.fnUntraced(function* (storage) {
      const versionsOf = (place: number) =>
        Effect.map(
          Effect.forEach([1, 2, 3, 4], (version) =>
            storage.get({ workspace_id: Sample.home, kind: "quote", id: Sample.quoteId(place), version })
          ),
          (records) => records.map(Option.isSome)
        )
      const write = (place: number, parent: number, version: number) =>
        storage.commit(Sample.change({ writes: [Sample.quote(place, parent, { version })] }))
      for (const version of [1, 2, 3]) yield* write(1, 1, version)
      for (const version of [1, 2]) yield* write(2, 2, version)
      const query = {
        what: "children",
        workspace_id: Sample.home,
        parent: Sample.requestId(1),
        versions: "older"
      } as const
      expectSame("the counts", (yield* storage.erase({ ...query, kind: "quote" })).records, { quote: 2 })
      expectSame("what is left", yield* versionsOf(1), [false, false, true, false])
      expectSame("of another parent", yield* versionsOf(2), [true, true, false, false])
      const again = yield* storage.erase({ ...query, kind: "quote" })
      expectSame("again", again.records.quote ?? 0, 0)
      yield* write(1, 1, 4)
      expectSame("with a later version", yield* versionsOf(1), [false, false, true, true])
    })
  ),
  rule(
    "erases the oldest events first, up to the limit or the first event that is too new",
    Effect.fnUntraced(function* (storage) {
      const events = [10, 20, 30, 15, 40].map((occurredAt, index) => Sample.event(index + 1, occurredAt))
      yield* storage.commit(Sample.change({ events }))
      const eventsLeft = Effect.map(storage.feed(Sample.feedOf()), (page) => [
        page.erased_through,
        ...page.events.map(({ number }) => number)
      ])
      expectSame("an erasure with an earlier limit", yield* eraseEvents(storage, 10), {
        records: {},
        events: 0,
        jobs: 0
      })
      expectSame("one", (yield* eraseEvents(storage, 30, 1)).events, 1)
      expectSame("the events left after one erasure", yield* eventsLeft, [1, 2, 3, 4, 5])
      expectSame("one more, up to the third", (yield* eraseEvents(storage, 30)).events, 1)
      expectSame("after two", yield* eventsLeft, [2, 3, 4, 5])
      expectSame("the rest", (yield* eraseEvents(storage, 100)).events, 3)
      expectSame("after all", yield* eventsLeft, [5])
    })
  ),
  rule(
    "lets a feed reader continue after an erasure, and reports how far events were erased",
    Effect.fnUntraced(function* (storage) {
      const count = 1_000
      yield* storage.commit(
        Sample.change({ events: Sample.range(1, count).map((place) => Sample.event(place, place)) })
      )
      yield* eraseEvents(storage, 601, count)
      const behind = yield* storage.feed(Sample.feedOf({ after: 100, limit: 3 }))
      expectSame("behind", [behind.erased_through, behind.events.map(({ number }) => number)], [600, [601, 602, 603]])
      const ahead = yield* storage.feed(Sample.feedOf({ after: 998 }))
      expectSame(
        "ahead",
        ahead.events.map(({ id }) => id),
        [999, 1_000].map((place) => Sample.event(place).id)
      )
    })
  ),
  rule(
    "lists the workspaces that have data, in order",
    Effect.fnUntraced(function* (storage) {
      const places = [5, 3, 1, 4, 2]
      for (const place of places) {
        yield* storage.commit(Sample.change({ workspace_id: Sample.workspace(place), writes: [Sample.request(1)] }))
      }
      yield* storage.commit(Sample.change({ workspace_id: directoryWorkspace, jobs: [Sample.job(1)] }))
      expectSame("all", yield* storage.workspaces(null, 10), [
        directoryWorkspace,
        ...[1, 2, 3, 4, 5].map(Sample.workspace)
      ])
      expectSame("the first", yield* storage.workspaces(null, 2), [directoryWorkspace, Sample.workspace(1)])
      expectSame(
        "a page after the first workspace",
        yield* storage.workspaces(Sample.workspace(2), 2),
        [3, 4].map(Sample.workspace)
      )
      expectSame("the end", yield* storage.workspaces(Sample.workspace(5), 2), [])
      yield* storage.ready
      expectTrue("a read creates no workspace", !(yield* storage.workspaces(null, 10)).includes(Sample.workspace(9)))
    })
  )
]
