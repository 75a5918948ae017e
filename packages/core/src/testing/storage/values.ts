import { Cause, Effect, Exit, Option } from "effect"
import type * as Change from "../../storage/Change.ts"
import type { CountAddition } from "../../storage/Storage.ts"
import { expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule } from "./storageRule.ts"

const longest = "x".repeat(1_000)
const latest = 2 ** 51

/**
 * Texts that break the rules: an empty text, a text that is too long, and texts with characters other than printable
 * ASCII.
 */
const brokenTexts = ["", `${longest}x`, "a\nb", "a\u0000b", "\ud800", "é", "😀"]
const brokenTimes = [1.5, latest + 1, -latest - 1, Number.NaN, Number.POSITIVE_INFINITY]

const withRecord = (record: Partial<Change.StoredRecord>) => ({ writes: [Sample.request(1, record)] })
const withEvent = (event: Partial<Change.NewEvent>) => ({ events: [{ ...Sample.event(1), ...event }] })
const withLane = (lane: { readonly name?: string; readonly limit?: number }) => ({
  jobs: [Sample.job(1, { lane: { name: "lane", limit: 1, urgent: false, ...lane } })]
})
const withExpectation = (expectation: Partial<Change.Expectation>) => ({
  expects: [{ kind: "quote_request", id: Sample.requestId(1), version: 0, ...expectation }]
})

/** Changes that each break one rule. */
const brokenChanges: ReadonlyArray<Partial<Change.Change>> = [
  ...brokenTexts.flatMap((text) => [
    ...[{ id: text }, { parent: text }, { status: text }, { line: text }].map(withRecord),
    ...[{ labels: [text] }, { labels: ["a", text] }, { about: [text] }, { about: ["a", text] }].map(withRecord),
    ...[{ id: text }, { about: [text] }].map(withEvent),
    withLane({ name: text }),
    withExpectation({ id: text })
  ]),
  ...[
    ["a", "b", "c"],
    ["a", "a"]
  ].flatMap((about) => [withRecord({ about }), withEvent({ about })]),
  ...brokenTimes.flatMap((time) => [
    ...[{ created_at: time }, { updated_at: time }, { expires_at: time }].map(withRecord),
    withEvent({ occurred_at: time }),
    { jobs: [Sample.job(time)] },
    { clock_offset_ms: time },
    { none_due_before: time }
  ]),
  ...[1.5, -1, 2 ** 31].flatMap((version) => [withRecord({ version }), withExpectation({ version })]),
  ...[0, 1.5, -1, 2 ** 31].map((limit) => withLane({ limit })),
  { jobs: [Sample.job(1, { ordered: true, lane: { name: "lane", limit: 1, urgent: false } })] },
  withRecord({ kind: "no_such_kind" }),
  withExpectation({ kind: "no_such_kind" })
]

const addition = (parts: Partial<CountAddition>): CountAddition => ({
  workspace_id: Sample.home,
  name: "reads",
  window_start: 0,
  window_ms: 60_000,
  added: 1,
  ...parts
})

/** Additions that each break one rule. */
const brokenAdditions: ReadonlyArray<ReadonlyArray<CountAddition>> = [
  ...brokenTexts.map((name) => [addition({ name })]),
  ...[...brokenTimes, 0, -1].map((window_ms) => [addition({ window_ms })]),
  ...brokenTimes.flatMap((time) => [[addition({ window_start: time })], [addition({ added: time })]]),
  [addition({}), addition({})]
]

const expectDeath = Effect.fnUntraced(function* (what: unknown, call: Effect.Effect<unknown, unknown>) {
  const exit = yield* Effect.exit(call)
  expectTrue(`the call dies: ${JSON.stringify(what).slice(0, 200)}`, Exit.isFailure(exit) && Cause.hasDies(exit.cause))
})

/** Cases for the rules that the values of changes and counts follow (`Checks`). */
export const values: ReadonlyArray<Case> = [
  rule(
    "dies of a change whose values break a rule, and stores nothing",
    Effect.fnUntraced(function* (storage) {
      for (const parts of brokenChanges) {
        const { events = [], writes = [] } = parts
        const broken = {
          ...parts,
          writes: [Sample.request(2), ...writes],
          events: [Sample.event(2), ...events]
        }
        yield* expectDeath(parts, storage.commit(Sample.change(broken)))
      }
      expectSame("the records", yield* storage.page(Sample.pageOf()), { records: [], next: null })
      expectSame("the feed", yield* storage.feed(Sample.feedOf()), { events: [], reached: 0, erased_through: 0 })
      const claim = yield* storage.claim(Sample.claimAt(latest))
      expectSame("a claim", claim, { jobs: [], next_due_at: null, busy: false })
      yield* storage.commit(Sample.change({ writes: [Sample.request(2)], events: [Sample.event(2)] }))
    })
  ),
  rule(
    "keeps the values at the limits of the rules",
    Effect.fnUntraced(function* (storage) {
      const record = Sample.request(1, {
        id: longest,
        parent: longest,
        status: " ",
        line: "~",
        labels: [longest, "{a,b}", "a"],
        about: [longest, longest.slice(1)],
        created_at: -latest,
        updated_at: latest,
        expires_at: latest
      })
      const event = { ...Sample.event(1), occurred_at: -latest, about: [longest.slice(1), longest] }
      const lane = { name: longest, limit: 2 ** 31 - 1, urgent: true }
      const jobs = [Sample.job(-latest, { lane }), Sample.timer(latest), Sample.job(latest)]
      yield* storage.commit(Sample.change({ writes: [record], events: [event], jobs, clock_offset_ms: -latest }))
      const stored = yield* storage.get({ workspace_id: Sample.home, kind: record.kind, id: record.id })
      expectSame("the record", Option.getOrNull(stored), record)
      for (const query of [{}, { parent: longest }, { about: [longest] }, { labels: ["{a,b}"] }, { status: " " }]) {
        const page = yield* storage.page(Sample.pageOf(query))
        expectSame("a page", page, { records: [record], next: null })
      }
      const { events } = yield* storage.feed(Sample.feedOf({ about: [longest] }))
      expectSame("the events", events, [{ ...event, number: 1 }])
      const claim = yield* storage.claim(Sample.claimAt(0))
      expectSame(
        "the jobs",
        [claim.jobs.map(({ lane: claimedLane }) => claimedLane), claim.next_due_at],
        [[lane], 2 * latest]
      )
      const listed = yield* storage.lane({ workspace_id: Sample.home, lane: longest, limit: 10 })
      expectSame(
        "the jobs in the lane",
        listed.map(({ due_at }) => due_at),
        [-latest]
      )
      expectSame("the last jobs", (yield* storage.claim(Sample.claimAt(2 * latest))).jobs.length, 3)
    })
  ),
  rule(
    "dies of an addition to a count whose values break a rule, and adds nothing",
    Effect.fnUntraced(function* (storage) {
      for (const additions of brokenAdditions) yield* expectDeath(additions, storage.addCounts(0, additions))
      expectSame("the count", yield* storage.addCounts(0, [addition({ added: 0 })]), [0])
      const edges = [
        addition({ name: longest, added: latest }),
        addition({ added: -latest, window_start: -latest, window_ms: latest })
      ]
      expectSame("the counts at the limits", yield* storage.addCounts(-1, edges), [latest, -latest])
    })
  )
]
