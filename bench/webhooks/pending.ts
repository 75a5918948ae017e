import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Change, Ids, type Job, Json, Revision, Storage } from "@quotewire/core"
import { Delivery } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as flags from "../flags.ts"
import * as report from "../report.ts"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { median, percentile } from "../statistics.ts"

/** What so many pending retries cost. */
export interface Row {
  readonly pending: number
  /** The delivery on record with its failed attempt, and the job of its retry. */
  readonly heap_bytes_each: number
  /** Of that, the job alone. */
  readonly job_bytes_each: number
  /** To claim the one that is due next, medians over the batches. */
  readonly claim_us: number
  readonly claim_p99_us: number
  /** To end its attempt in one commit, with the retry after it. */
  readonly commit_us: number
  /** Medians of what a batch took against the batch of the first row beside it. */
  readonly claim_ratio: number
  readonly commit_ratio: number
}

type StorageService = Storage.Storage["Service"]

const workspaces = 20
const subscriptions_each = 10
/** Retries of one subscription that run at once, as the attempts of the core have it. */
const max_retries = 4
const hour_ms = 3_600_000

// Node gives the collector only to who asks for it, and the command line may not have.
setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const heapBytes = (): number => {
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

/** Random numbers that are the same in every run. */
const chance = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

// Base 32 as JavaScript writes it has four letters that identifiers have not.
const letters: { readonly [letter: string]: string } = { i: "w", l: "x", o: "y", u: "z" }

/** The part of an identifier behind its prefix: another for every number. */
const bodyOf = (number: number): string =>
  Array.from(number.toString(32), (letter) => letters[letter] ?? letter)
    .join("")
    .padStart(26, "0")

/** The body of a webhook as the service makes it, from a real start. */
const samplePayload: Effect.Effect<string> = Effect.gen(function* () {
  const key = yield* Service.makeKey
  yield* Service.call(Service.start_quote_request, key, starts.smallest("pending"))
  const [event] = Json.decode(yield* Service.call(Service.list_events, key, { limit: 1 })).events
  return JSON.stringify({ ...event, schema_version: Revision.served[0].date })
}).pipe(Effect.provide(Service.layer))

const jobOf = (delivery: Delivery.KeptDelivery): Job.NewJob => ({
  kind: "deliver",
  due_at: delivery.next_attempt_at ?? delivery.created_at,
  ordered: false,
  lane: { name: `${delivery.subscription_id} retries`, limit: max_retries, urgent: false },
  payload: JSON.stringify({
    subscription_id: delivery.subscription_id,
    event_id: delivery.event_id,
    schedule_step: delivery.schedule_step,
    trigger: "scheduled"
  })
})

const failedAt = (at: number): Delivery.AttemptOutcome => ({
  attempted_at: at,
  ended_at: at,
  confirmed: false,
  hung: false,
  response_status_code: 500,
  response_duration_ms: 12,
  trigger: "scheduled"
})

/** A delivery whose first attempt failed, at a moment that chance has picked from the last hour. */
const failedDelivery = (number: number, payload: string, at: number): Delivery.KeptDelivery => {
  const subscription = (number % (workspaces * subscriptions_each)) + 1
  const event_id = `evt_${bodyOf(number)}`
  const handed = Delivery.make({
    subscription_id: Ids.SubscriptionId.make(`sub_${bodyOf(subscription)}`),
    event_id,
    event_type: "quote_request.queued",
    payload: payload.replace(/evt_[0-9a-z]{26}/, event_id),
    at
  })
  return Delivery.attempted(handed, failedAt(at))
}

const workspaceOf = (number: number): Ids.WorkspaceId =>
  Ids.WorkspaceId.make(`wks_${bodyOf((number % workspaces) + 1)}`)

/** Which half of a pending retry is filled in. */
type Part = "all" | "jobs"

/** Fills a storage as failed attempts leave it. */
const fill = Effect.fnUntraced(function* (storage: StorageService, pending: number, payload: string, part: Part) {
  const random = chance(1)
  const began = Date.UTC(2026, 0, 1)
  for (let number = 1; number <= pending; number++) {
    const failed = failedDelivery(number, payload, began + Math.floor(random() * hour_ms))
    const first = { ...failed, version: 1 }
    const writes = part === "all" ? [Delivery.toStored(first, first.created_at)] : []
    yield* storage.commit(Change.make(workspaceOf(number), { writes, jobs: [jobOf(failed)] }))
  }
})

/** A storage with so many pending retries in it. */
interface Filled {
  readonly pending: number
  readonly storage: StorageService
  readonly bytes_each: number
  /** Real time of its story: it goes from one due moment to the next. */
  now: number
}

const filled = async (pending: number, payload: string, part: Part, scope: Scope.Scope): Promise<Filled> => {
  const context = await Effect.runPromise(Layer.buildWithScope(Layer.fresh(MemoryStorage.layer), scope))
  const storage = Context.get(context, Storage.Storage)
  const before = heapBytes()
  await Effect.runPromise(fill(storage, pending, payload, part))
  return { pending, storage, bytes_each: (heapBytes() - before) / pending, now: 0 }
}

interface Batch {
  readonly claims_us: Float64Array
  readonly claim_us: number
  readonly commit_us: number
}

/** Goes to the next due moment, claims what is due, fails again and leaves the next retry: as many pending as before. */
const batch = Effect.fnUntraced(function* (level: Filled, steps: number) {
  const { storage } = level
  const claims_us = new Float64Array(steps)
  let commits_ms = 0
  for (let step = 0; step < steps; step++) {
    const before = performance.now()
    const claim = yield* storage.claim({ now: level.now, lease_ms: 30_000, limit: 1 })
    claims_us[step] = (performance.now() - before) * 1_000
    const [job] = claim.jobs
    if (job === undefined) {
      // Nothing was due yet: this look told when something is, and does not count.
      level.now = Math.max(level.now, claim.next_due_at ?? 0)
      step--
      continue
    }
    const change = yield* failAgain(storage, job)
    const committing = performance.now()
    yield* storage.commit(change)
    commits_ms += performance.now() - committing
    level.now = Math.max(level.now, claim.next_due_at ?? 0)
  }
  const answer: Batch = { claims_us, claim_us: median([...claims_us]), commit_us: (commits_ms * 1_000) / steps }
  return answer
})

const failAgain = Effect.fnUntraced(function* (storage: StorageService, job: Job.ClaimedJob) {
  const { subscription_id, event_id } = Json.decode(
    Json.fromText<{ readonly subscription_id: Ids.SubscriptionId; readonly event_id: string }>(job.payload)
  )
  const id = Delivery.idOf(subscription_id, event_id)
  const stored = yield* Effect.fromOption(yield* storage.get({ workspace_id: job.workspace_id, kind: "delivery", id }))
  const failed = Delivery.attempted(Delivery.kind.value(stored), failedAt(job.due_at))
  // The schedule would end; this story goes on.
  const next = { ...failed, retries: 1, attempts: failed.attempts.slice(0, 1), ...retryIn(hour_ms, job.due_at) }
  return Change.make(job.workspace_id, {
    writes: [Delivery.toStored(next, job.due_at)],
    jobs: [jobOf(next)],
    finishes: [job]
  })
})

const retryIn = (wait_ms: number, at: number) => ({ status: "retrying" as const, next_attempt_at: at + wait_ms })

/** Fills a storage for each number of pending retries, and measures them in turn. */
export const run = async (
  pendings: ReadonlyArray<number>,
  rounds: number,
  steps: number
): Promise<ReadonlyArray<Row>> => {
  const payload = await Effect.runPromise(samplePayload)
  const jobs: Array<number> = []
  for (const pending of pendings) jobs.push(await withScope((scope) => jobBytes(pending, payload, scope)))
  return withScope(async (scope) => {
    const levels: Array<Filled> = []
    for (const pending of pendings) levels.push(await filled(pending, payload, "all", scope))
    const batches = levels.map((): Array<Batch> => [])
    for (let round = -1; round < rounds; round++) {
      for (const [index, level] of levels.entries()) {
        const one = await Effect.runPromise(batch(level, steps))
        // The first round warms up.
        if (round >= 0) batches[index]?.push(one)
      }
    }
    return levels.map((level, index) => rowOf(level, jobs[index] ?? Number.NaN, batches[index] ?? [], batches[0] ?? []))
  })
}

const jobBytes = async (pending: number, payload: string, scope: Scope.Scope): Promise<number> =>
  (await filled(pending, payload, "jobs", scope)).bytes_each

const withScope = async <A>(use: (scope: Scope.Scope) => Promise<A>): Promise<A> => {
  const scope = Scope.makeUnsafe()
  try {
    return await use(scope)
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const rowOf = (
  { pending, bytes_each }: Filled,
  job_bytes_each: number,
  batches: ReadonlyArray<Batch>,
  base: ReadonlyArray<Batch>
): Row => {
  const ratio = (pick: (one: Batch) => number) =>
    median(batches.flatMap((one, index) => base.slice(index, index + 1).map((first) => pick(one) / pick(first))))
  return {
    pending,
    heap_bytes_each: bytes_each,
    job_bytes_each,
    claim_us: median(batches.map(({ claim_us }) => claim_us)),
    claim_p99_us: median(batches.map(({ claims_us }) => percentile(claims_us, 0.99))),
    commit_us: median(batches.map(({ commit_us }) => commit_us)),
    claim_ratio: ratio(({ claim_us }) => claim_us),
    commit_ratio: ratio(({ commit_us }) => commit_us)
  }
}

/** The rows as a table. */
export const tableOf = (rows: ReadonlyArray<Row>): report.Table => ({
  name: "pending",
  title: "Pending retries in memory (in brackets: the first row = 1)",
  columns: ["pending retries", "heap each", "its job", "claim of the next due", "p99", "commit of its attempt"],
  rows: rows.map((row) => [
    row.pending.toLocaleString("en-US"),
    ...[row.heap_bytes_each, row.job_bytes_each].map((one) => `${Math.round(one)} bytes`),
    `${row.claim_us.toFixed(2)} µs (${row.claim_ratio.toFixed(2)})`,
    `${row.claim_p99_us.toFixed(2)} µs`,
    `${row.commit_us.toFixed(2)} µs (${row.commit_ratio.toFixed(2)})`
  ]),
  how: "one run, medians of 20 batches of 1,000",
  numbers: rows
})

if (import.meta.main) {
  const { quick } = flags.read()
  report.print(tableOf(await run([1_000, quick ? 20_000 : 100_000], quick ? 6 : 20, 1_000)))
}
