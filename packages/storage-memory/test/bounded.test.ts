import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import { Change, Ids, type Job, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"

const body = (place: number) => place.toString().padStart(26, "0")
const workspace = (place: number) => Ids.WorkspaceId.make(`wks_${body(place)}`)
const home = workspace(1)

const megabyte = 1_048_576
/** A unique text of one kilobyte, so that anything kept by mistake shows in the heap. */
const text = (place: number) => JSON.stringify({ place, filler: "x".repeat(1_000) })

const record = (kind: string, id: string, at: number, parent: string | null = null): Change.StoredRecord =>
  Change.record({
    kind,
    id,
    version: 1,
    body: text(at),
    parent,
    created_at: at,
    updated_at: at
  })

const job = (due_at: number, ordered = false): Job.NewJob => ({
  kind: "collect",
  due_at,
  ordered,
  payload: text(due_at)
})

/** Pseudorandom numbers, the same in every run. */
const scattered = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")
const heapUsed = () => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const drain = Effect.fnUntraced(function* (kind: string, parent?: string) {
  const storage = yield* Storage.Storage
  const ids: Array<string> = []
  let after: string | null = null
  do {
    const filter = parent === undefined ? {} : { parent }
    const query = { workspace_id: home, kind, order: "oldest", after, limit: 500, ...filter } as const
    const page: Effect.Success<ReturnType<typeof storage.page>> = yield* storage.page(query)
    ids.push(...page.records.map(({ id }) => id))
    after = page.next
  } while (after !== null)
  return ids
})

describe("the in-memory storage's memory use", () => {
  it.effect(
    "stays constant under a constant load with retention sweeps",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const random = scattered(7)
      const window = 2_000

      const load = Effect.fnUntraced(function* (at: number) {
        const request = `qreq_${body(at)}`
        yield* storage.commit(
          Change.make(home, {
            writes: [
              record("quote_request", request, at),
              record("quote", `qt_${body(at)}`, at, request),
              record("idempotency_record", `answer ${random(2 ** 32)} ${at}`, at)
            ],
            events: [{ id: `evt_${at}`, occurred_at: at, about: [], body: text(at) }],
            // Each ordered job takes its own claim, so more of them than claims would pile up.
            jobs: at % 4 === 0 ? [job(at), job(at + 50, true)] : [job(at)]
          })
        )
        const { jobs } = yield* storage.claim({ now: at, lease_ms: 10, limit: 10 })
        // Some are not finished by their first claim, and some are released.
        for (const { workspace_id, number, lease } of jobs) {
          const chance = random(50)
          if (chance === 0) continue
          if (chance === 1) yield* storage.release([{ workspace_id, number, lease }])
          else yield* storage.commit(Change.make(workspace_id, { finishes: [{ workspace_id, number, lease }] }))
        }
      })
      const sweep = Effect.fnUntraced(function* (now: number) {
        const before = { workspace_id: home, created_before: now - window, limit: 1_000_000 }
        yield* storage.erase({ what: "records", kind: "quote_request", ...before })
        yield* storage.erase({ what: "records", kind: "idempotency_record", ...before })
        yield* storage.erase({ what: "events", workspace_id: home, occurred_before: now - window, limit: 1_000_000 })
      })
      const run = Effect.fnUntraced(function* (from: number, to: number) {
        for (let at = from; at < to; at++) {
          yield* load(at)
          if (at % 500 === 499) yield* sweep(at + 1)
        }
        return heapUsed()
      })

      const early = yield* run(0, 10_000)
      const late = yield* run(10_000, 50_000)
      expect((late - early) / megabyte).toBeLessThan(3)
      for (const kind of ["quote_request", "quote", "idempotency_record"] as const) {
        expect(yield* drain(kind), kind).toHaveLength(window)
      }
      const feed = yield* storage.feed({ workspace_id: home, after: 0, limit: 1_000_000 })
      expect(feed.erased_through).toBe(50_000 - window)
      expect(feed.events).toHaveLength(window)
      const waiting = yield* storage.erase({ what: "workspace", workspace_id: home })
      expect(waiting.jobs).toBeLessThan(200)
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "shrinks when events are erased, even if a newer event remains",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const before = heapUsed()
      for (let place = 1; place <= 200; place++) {
        const workspace_id = workspace(place)
        const events = Array.from({ length: 100 }, (_, at) => ({
          id: `evt_${at}`,
          occurred_at: at,
          about: [],
          body: text(at)
        }))
        yield* storage.commit(Change.make(workspace_id, { events }))
        yield* storage.erase({ what: "events", workspace_id, occurred_before: 99, limit: 1_000 })
      }
      expect((heapUsed() - before) / megabyte).toBeLessThan(3)
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "shrinks when all of a lane's jobs are done",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const run = Effect.fnUntraced(function* (from: number, to: number) {
        for (let at = from; at < to; at++) {
          const lane = { name: `sub_${body(at)} ${"x".repeat(900)}`, limit: 2, urgent: at % 2 === 0 }
          const jobs = [1, 2, 3].map(
            (): Job.NewJob => ({ kind: "deliver", due_at: at, ordered: false, lane, payload: "" })
          )
          yield* storage.commit(Change.make(home, { jobs }))
          for (const expected of [2, 1]) {
            const claim = yield* storage.claim({ now: at, lease_ms: 10, limit: 10 })
            expect(claim.jobs).toHaveLength(expected)
            // Some leases end before the job is finished.
            if (at % 3 === 0) yield* storage.claim({ now: at + 10, lease_ms: 10, limit: 0 })
            for (const { workspace_id, number, lease } of claim.jobs) {
              yield* storage.commit(Change.make(workspace_id, { finishes: [{ workspace_id, number, lease }] }))
            }
          }
        }
        return heapUsed()
      })
      const early = yield* run(0, 1_000)
      const late = yield* run(1_000, 11_000)
      expect((late - early) / megabyte).toBeLessThan(3)
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "shrinks when a workspace is erased",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const before = heapUsed()
      for (let at = 0; at < 20_000; at++) {
        const writes = [record("quote", `qt_${body(at)}`, at, `qreq_${body(at >> 1)}`)]
        const events = [{ id: `evt_${at}`, occurred_at: at, about: [], body: text(at) }]
        yield* storage.commit(Change.make(home, { writes, events, jobs: [job(at), job(at, true)] }))
      }
      yield* storage.claim({ now: 5_000, lease_ms: 100, limit: 10_000 })
      const full = heapUsed()
      expect((full - before) / megabyte).toBeGreaterThan(50)
      const erased = yield* storage.erase({ what: "workspace", workspace_id: home })
      expect(erased).toEqual({ records: { quote: 20_000 }, events: 20_000, jobs: 40_000 })
      expect((heapUsed() - before) / megabyte).toBeLessThan(3)
    }, Effect.provide(MemoryStorage.layer))
  )
})

describe("the in-memory storage", () => {
  it.effect(
    "reads a page of a long feed at a cost that depends only on the page's size",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const total = 1_000_000
      const block = 1_000
      for (let first = 1; first <= total; first += block) {
        const events = Array.from({ length: block }, (_, index) => ({
          id: `evt_${first + index}`,
          occurred_at: first + index,
          about: [],
          body: "{}"
        }))
        yield* storage.commit(Change.make(home, { events }))
      }
      yield* storage.erase({ what: "events", workspace_id: home, occurred_before: 1_235, limit: total })
      const random = scattered(11)
      for (let round = 0; round < 2_000; round++) {
        const after = random(total - 100)
        const { events } = yield* storage.feed({ workspace_id: home, after, limit: 100 })
        const first = Math.max(after, 1_234) + 1
        expect([events[0]?.number, events[0]?.id, events.length]).toEqual([first, `evt_${first}`, 100])
        expect(events[99]?.id).toBe(`evt_${first + 99}`)
      }
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "claims 100,000 jobs from 10,000 workspaces in the order of their real due times",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const random = scattered(13)
      const workspaces = 10_000
      const clock = Array.from({ length: workspaces }, () => random(1_000_000))
      const due: Array<number> = []
      for (let place = 0; place < workspaces; place++) {
        const moments = Array.from({ length: 10 }, () => random(10_000_000))
        due.push(...moments)
        const offset = clock[place] ?? 0
        const jobs = moments.map((moment, index): Job.NewJob => {
          const payload = String(moment)
          return { kind: "collect", due_at: moment + offset, ordered: index === 0, payload }
        })
        // The clock moves after half of the jobs are stored.
        yield* storage.commit(Change.make(workspace(place), { jobs: jobs.slice(0, 5) }))
        yield* storage.commit(Change.make(workspace(place), { jobs: jobs.slice(5), clock_offset_ms: offset }))
      }
      due.sort((one, other) => one - other)
      const claimed: Array<number> = []
      while (claimed.length < due.length) {
        const { jobs, next_due_at } = yield* storage.claim({ now: 10_000_000, lease_ms: 60_000, limit: 100 })
        claimed.push(...jobs.map(({ payload }) => Number(payload)))
        expect(next_due_at).toBe(due[claimed.length] ?? null)
        for (const { workspace_id, number, lease } of jobs) {
          yield* storage.commit(Change.make(workspace_id, { finishes: [{ workspace_id, number, lease }] }))
        }
      }
      expect(claimed).toEqual(due)
      const end = yield* storage.claim({ now: 20_000_000, lease_ms: 1, limit: 1 })
      expect(end).toEqual({ jobs: [], next_due_at: null, busy: false })
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "claims 200,000 ordered jobs in one call, and finishes them after their leases expire",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const random = scattered(19)
      const jobs = Array.from({ length: 200_000 }, (_, place): Job.NewJob => {
        return { kind: "collect", due_at: 5, ordered: true, payload: String(place) }
      })
      yield* storage.commit(Change.make(home, { jobs }))
      const all = { lease_ms: 10, limit: jobs.length, workspace_id: home }
      const first = yield* storage.claim({ ...all, now: 5 })
      expect(first.jobs).toHaveLength(jobs.length)
      yield* storage.claim({ ...all, now: 15, limit: 0 })
      const late = first.jobs.filter(() => random(2) === 0)
      const finishes = late
        .map(({ workspace_id, number, lease }) => ({ lease: { workspace_id, number, lease }, key: random(2 ** 32) }))
        .sort((one, other) => one.key - other.key)
        .map(({ lease }) => lease)
      yield* storage.commit(Change.make(home, { finishes }))
      const finished = new Set(late.map(({ number }) => number))
      const second = yield* storage.claim({ ...all, now: 15 })
      expect(second.jobs.map(({ number }) => number)).toEqual(
        first.jobs.map(({ number }) => number).filter((number) => !finished.has(number))
      )
      expect(second.jobs.every(({ expired_leases }) => expired_leases === 1)).toBe(true)
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "keeps lists sorted, whatever the order in which IDs are added and removed",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const random = scattered(17)
      const places = Array.from({ length: 20_000 }, (_, place) => place)
      const shuffled = places
        .map((place) => ({ place, key: random(2 ** 32) }))
        .sort((one, other) => one.key - other.key)
      for (const { place, key } of shuffled) {
        const parent = `qreq_${place % 7}`
        yield* storage.commit(Change.make(home, { writes: [record("quote", `qt_${body(place)}`, key, parent)] }))
      }
      let left = [...shuffled]
      // Erases scattered ids, because the oldest records can have any id, and compares the lists each time.
      while (left.length > 0) {
        const expected = left.map(({ place }) => place).sort((one, other) => one - other)
        expect(yield* drain("quote")).toEqual(expected.map((place) => `qt_${body(place)}`))
        const ofOne = expected.filter((place) => place % 7 === 3)
        expect(yield* drain("quote", "qreq_3")).toEqual(ofOne.map((place) => `qt_${body(place)}`))
        yield* storage.erase({
          what: "records",
          workspace_id: home,
          kind: "quote",
          created_before: 2 ** 33,
          limit: 3_000
        })
        left = left.slice(3_000)
      }
      expect(yield* drain("quote")).toEqual([])
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "finds a record by its parent and by the age of its latest version",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const first = record("offer", "qt_1", 10, "qreq_1")
      yield* storage.commit(Change.make(home, { writes: [first, record("offer", "qt_2", 20, "qreq_1")] }))
      yield* storage.commit(Change.make(home, { writes: [{ ...first, version: 2, parent: "qreq_2", created_at: 30 }] }))
      expect(yield* drain("offer", "qreq_1")).toEqual(["qt_2"])
      expect(yield* drain("offer", "qreq_2")).toEqual(["qt_1"])
      yield* storage.erase({ what: "records", workspace_id: home, kind: "offer", created_before: 30, limit: 10 })
      expect(yield* drain("offer")).toEqual(["qt_1"])
    }, Effect.provide(MemoryStorage.layer))
  )

  it.effect(
    "stores a change even if a hint listener throws",
    Effect.fnUntraced(function* () {
      const storage = yield* Storage.Storage
      const heard: Array<Change.Hint> = []
      yield* storage.watch(() => {
        throw new Error("a listener that fails on purpose")
      })
      yield* storage.watch((hint) => heard.push(hint))
      yield* storage.commit(Change.make(home, { writes: [record("quote_request", "qreq_1", 1)] }))
      expect(heard).toEqual([{ about: "record", id: "qreq_1" }])
      expect(yield* drain("quote_request")).toEqual(["qreq_1"])
    }, Effect.provide(MemoryStorage.layer))
  )
})
