import { assert, layer } from "@effect/vitest"
import { Change, type Job, type Page, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Arbitrary, Cause, Context, Effect, Exit, Layer, Option, Schema } from "effect"
import { type Port, workspace } from "./support/hosts.ts"
import { storage } from "./support/storage.ts"

/*
 * Sends changes with odd values to both storages: values that are allowed but rarely used, and values that no storage
 * may accept. Both must store, refuse or reject the same changes, and read the same data.
 */

const long = "x".repeat(1_000)
const oddTexts = [
  "a",
  "b",
  " ",
  "~",
  "NULL",
  "{}",
  '{"a,b"}',
  "\\",
  "'",
  "ordered",
  "lane a",
  long,
  `${long.slice(1)}y`
]
const brokenTexts = ["", "\n", "a\nb", "\u0000", "\u007f", "\ud800", "é", "😀", `${long}x`]
const oddTimes = [0, -0, 1, -1, 999, 2 ** 31, -(2 ** 32) - 1, 2 ** 51, -(2 ** 51)]
const brokenTimes = [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 51 + 1, 2 ** 53, -(2 ** 64)]
const versions = [...Array.from({ length: 20 }, () => 1), 2, 0, 2 ** 31 - 1]
const brokenVersions = [-1, 1.5, 2 ** 31]
const kinds = ["quote_request", "quote", "offer"]
const jobKinds: ReadonlyArray<Job.JobKind> = ["collect", "deliver"]
const limits = [100, 0, 1, 2, 9_999, 10_000, 1_000_000, 2 ** 31 - 1]
/** The times of claims. Most jobs are due by the last one, whatever the clock. */
const moments = [...oddTimes, ...Array.from({ length: 9 }, () => 2 ** 52)]

/** Chooses values by a list of random numbers, and the first of each list when the numbers are used up. */
class Choices {
  private next = 0
  private readonly draws: ReadonlyArray<number>

  constructor(draws: ReadonlyArray<number>) {
    this.draws = draws
  }

  below(limit: number): number {
    return (this.draws[this.next++] ?? 0) % limit
  }

  of<A>(values: ReadonlyArray<A>): A {
    const value = values[this.below(values.length)]
    if (value === undefined) throw new Error("there is nothing to choose from")
    return value
  }

  /** Rarely a broken value, because one is enough to reject a whole change. */
  odd<A>(allowed: ReadonlyArray<A>, broken: ReadonlyArray<A>): A {
    return this.below(97) === 96 ? this.of(broken) : this.of(allowed)
  }

  many<A>(most: number, make: () => A): ReadonlyArray<A> {
    return Array.from({ length: this.below(most + 1) }, make)
  }

  text = (): string => this.odd(oddTexts, brokenTexts)
  textOrNull = (): string | null => (this.below(3) === 0 ? null : this.text())
  time = (): number => this.odd(oddTimes, brokenTimes)
  timeOrNull = (): number | null => (this.below(3) === 0 ? null : this.time())
  about = (): ReadonlyArray<string> => [...new Set(this.many(this.below(20) === 19 ? 3 : 2, this.text))]
}

const recordBy = (choices: Choices): Change.StoredRecord => ({
  kind: choices.odd(kinds, ["no_such_kind"]),
  id: choices.text(),
  version: choices.odd(versions, brokenVersions),
  parent: choices.textOrNull(),
  status: choices.textOrNull(),
  line: choices.textOrNull(),
  labels: choices.many(3, choices.text),
  about: choices.about(),
  created_at: choices.time(),
  updated_at: choices.time(),
  expires_at: choices.timeOrNull(),
  body: choices.of(["{}", '"\\u0000\\ud800"', '"é😀"'])
})

/** The limit and the urgency follow from the name, because jobs with the same lane name must agree on them. */
const laneBy = (choices: Choices): Job.JobLane => {
  const name = choices.text()
  return { name, limit: choices.odd([name.length + 1], [0, -1, 1.5, 2 ** 31]), urgent: name < "b" }
}

const jobBy = (choices: Choices): Job.NewJob => ({
  kind: choices.of(jobKinds),
  due_at: choices.time(),
  ordered: choices.below(3) === 0,
  ...(choices.below(5) === 0 && { lane: laneBy(choices) }),
  payload: "{}"
})

/** Jobs with different due times, because a claim may choose between jobs that are due at the same time. */
const jobsBy = (choices: Choices, dueTimes: Set<number>): ReadonlyArray<Job.NewJob> =>
  choices
    .many(3, () => jobBy(choices))
    .filter(({ due_at }) => {
      const isNew = !dueTimes.has(due_at)
      dueTimes.add(due_at)
      return isNew
    })

const changeBy = (choices: Choices, place: number, dueTimes: Set<number>): Change.Change =>
  Change.make(workspace(place), {
    writes: choices.many(3, () => recordBy(choices)),
    expects: choices.many(1, () => ({
      kind: choices.of(kinds),
      id: choices.text(),
      version: choices.of([0, 0, 0, 0, 0, 1])
    })),
    events: choices.many(2, () => ({
      id: choices.text(),
      occurred_at: choices.time(),
      about: choices.about(),
      body: "{}"
    })),
    jobs: jobsBy(choices, dueTimes),
    clock_offset_ms: choices.timeOrNull(),
    none_due_before: choices.below(9) === 0 ? choices.time() : null
  })

/** How a call ends. */
const outcomeOf = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E>): unknown => {
  if (Exit.isSuccess(exit)) return { returned: exit.value }
  return Option.match(Cause.findErrorOption(exit.cause), { onNone: () => "died", onSome: ({ _tag }) => _tag })
}

const pageBy = (choices: Choices, place: number): Page.RecordQuery => ({
  workspace_id: workspace(place),
  kind: choices.of(kinds),
  order: choices.of(["oldest", "newest"]),
  after: choices.below(3) === 0 ? choices.of(oddTexts) : null,
  limit: choices.of(limits),
  ...(choices.below(6) === 0 && { parent: choices.of(oddTexts) }),
  ...(choices.below(6) === 0 && { status: choices.of(oddTexts) }),
  ...(choices.below(6) === 0 && { labels: choices.many(2, () => choices.of(oddTexts)) }),
  ...(choices.below(4) === 0 && { about: choices.many(2, () => choices.of(oddTexts)) }),
  ...(choices.below(6) === 0 && { created_after: choices.of(oddTimes) }),
  ...(choices.below(6) === 0 && { updated_since: choices.of(oddTimes) })
})

/** Makes a function that sends two changes to a storage, reads all that it stores, and returns the results. */
const playBy = (draws: ReadonlyArray<number>, place: number) => {
  const choices = new Choices(draws)
  const workspace_id = workspace(place)
  const dueTimes = new Set<number>()
  const changes = [changeBy(choices, place, dueTimes), changeBy(choices, place, dueTimes)]
  const keys = changes.flatMap(({ writes }) => writes.map(({ id, kind }) => ({ workspace_id, kind, id })))
  const pages = [0, 1, 2, 3].map(() => pageBy(choices, place))
  const limit = choices.of(limits)
  const now = choices.of(moments)
  return (port: Port) =>
    Effect.gen(function* () {
      const outcomes = yield* Effect.forEach(changes, (change) =>
        Effect.map(Effect.exit(port.commit(change)), outcomeOf)
      )
      // Both storages die for different reasons if a key is broken.
      const records = yield* Effect.forEach(outcomes.includes("died") ? [] : keys, (key) =>
        Effect.map(port.get(key), Option.getOrNull)
      )
      const lists = yield* Effect.forEach(pages, (page) => port.page(page))
      const feed = yield* port.feed({ workspace_id, after: 0, limit })
      const waiting = yield* port.lane({ workspace_id, limit })
      const { jobs, next_due_at } = yield* port.claim({ now, lease_ms: 10, limit })
      const erased = yield* port.erase({ what: "workspace", workspace_id })
      return {
        ...{ outcomes, records, lists, feed, waiting, erased },
        jobs: jobs.map(({ number, ...job }) => job),
        next_due_at: next_due_at === null ? null : Math.max(next_due_at, now)
      }
    })
}

const draw = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const draws = Arbitrary.schema(Schema.Array(draw).check(Schema.isMinLength(200), Schema.isMaxLength(200)))

layer(storage, { timeout: "60 seconds" })("odd values", (it) => {
  let place = 0
  it.effect.prop(
    "mean the same to PostgreSQL and to the storage in memory",
    [draws],
    ([numbers]) =>
      Effect.gen(function* () {
        const memory = Context.get(yield* Layer.build(MemoryStorage.layer), Storage.Storage)
        const play = playBy(numbers, ++place)
        const expected = yield* play(memory)
        // JSON does not distinguish -0 from 0, which PostgreSQL does not keep.
        const comparable = (result: unknown): unknown => JSON.parse(JSON.stringify(result))
        assert.deepStrictEqual(comparable(yield* play(yield* Storage.Storage)), comparable(expected))
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 150 }, timeout: 60_000 }
  )
})
