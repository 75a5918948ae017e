import { Change, type Job, Storage } from "@quotewire/core"
import { Effect, ManagedRuntime } from "effect"
import { Logger, run } from "graphile-worker"
import { PgBoss } from "pg-boss"
import { statements } from "../../test/support/TestDatabase.ts"
import * as Child from "../Child.ts"
import { storage } from "./Databases.ts"
import { workspaceOf } from "./start.ts"

/** Tells a process to store this many no-op jobs and then run them. */
export interface Working {
  readonly url: string
  readonly jobs: number
}

/** How many jobs were finished per second. */
export interface JobRound {
  readonly per_second: number
}

const workspaces = 8
/** How many jobs are stored in one change. */
const storedAtOnce = 500
/** How many jobs are claimed at a time, which is also the maximum that a runner holds. */
const claimedAtOnce = 128
/** How many claims run concurrently, so that the next jobs are ready when the current ones are done. */
const claims = 2
/** The batch size of both rivals. It is the largest that either accepts, and both are fastest with it. */
const batch = 500
const graphileConcurrency = 24

/** Measures how long this many jobs take. */
const timed = async (jobs: number, work: () => Promise<unknown>): Promise<JobRound> => {
  const began = performance.now()
  await work()
  return { per_second: jobs / ((performance.now() - began) / 1e3) }
}

type Port = Storage.Storage["Service"]

const enqueue = (port: Port, jobs: number) =>
  Effect.forEach(
    Array.from({ length: jobs / storedAtOnce }, (_, index) => index),
    (index) => {
      const job: Job.NewJob = { kind: "collect", due_at: Date.now() + index, ordered: false, payload: "{}" }
      const all = Array.from({ length: storedAtOnce }, () => job)
      return port.commit(Change.make(workspaceOf(1 + (index % workspaces)), { jobs: all }))
    },
    { concurrency: workspaces }
  )

/** Claims and finishes jobs until all are done. Each job is finished with its own change, as a runner does it. */
const workOff = (port: Port, jobs: number) => {
  let done = 0
  const finish = ({ workspace_id, number, lease }: Job.ClaimedJob) =>
    port.commit(Change.make(workspace_id, { finishes: [{ workspace_id, number, lease }] }))
  const round = Effect.gen(function* () {
    const claim = yield* port.claim({ now: Date.now() + 60_000, lease_ms: 300_000, limit: claimedAtOnce })
    if (claim.jobs.length === 0) return yield* Effect.sleep(1)
    yield* Effect.forEach(claim.jobs, finish, { concurrency: "unbounded", discard: true })
    done += claim.jobs.length
  })
  const lane = Effect.whileLoop({ while: () => done < jobs, body: () => round, step: () => {} })
  return Effect.forEach(Array.from({ length: claims }), () => lane, { concurrency: claims, discard: true })
}

const quotewire = async ({ url, jobs }: Working): Promise<JobRound> => {
  const runtime = ManagedRuntime.make(storage(url))
  const port = await runtime.runPromise(Storage.Storage)
  await runtime.runPromise(enqueue(port, jobs))
  const worked = await timed(jobs, () => runtime.runPromise(workOff(port, jobs)))
  const remaining = await statements(url, "select from quotewire.job")
  if (remaining.length > 0) throw new Error(`${remaining.length} jobs are left`)
  await runtime.dispose()
  return worked
}

const graphile =
  (local: boolean) =>
  async ({ url, jobs }: Working): Promise<JobRound> => {
    let done = 0
    let finished = () => {}
    const allDone = new Promise<void>((resolve) => {
      finished = resolve
    })
    const noop = async () => {
      done++
      if (done === jobs) finished()
    }
    const options = {
      connectionString: url,
      concurrency: graphileConcurrency,
      maxPoolSize: graphileConcurrency,
      // With its default logger, the runner would log the end of every job.
      logger: new Logger(() => () => undefined),
      noHandleSignals: true,
      preset: local
        ? { worker: { localQueue: { size: batch }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } }
        : { worker: {} }
    }
    // Running graphile-worker once without jobs creates its schema.
    await (await run({ ...options, taskList: { noop } })).stop()
    await statements(url, `select graphile_worker.add_job('noop', '{}'::json) from generate_series(1, ${jobs})`)
    return timed(jobs, async () => {
      const runner = await run({ ...options, taskList: { noop } })
      await allDone
      await runner.stop()
    })
  }

const boss = async ({ url, jobs }: Working): Promise<JobRound> => {
  const pgBoss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  pgBoss.on("error", () => undefined)
  await pgBoss.start()
  await pgBoss.createQueue("noop")
  for (let stored = 0; stored < jobs; stored += storedAtOnce) {
    await pgBoss.insert(
      "noop",
      Array.from({ length: storedAtOnce }, () => ({ data: {} }))
    )
  }
  let done = 0
  const lane = async () => {
    while (done < jobs) {
      const taken = await pgBoss.fetch("noop", { batchSize: batch })
      if (taken.length === 0) return
      await pgBoss.complete(
        "noop",
        taken.map(({ id }) => id)
      )
      done += taken.length
    }
  }
  const worked = await timed(jobs, () => Promise.all(Array.from({ length: claims }, lane)))
  if (done !== jobs) throw new Error(`${done} jobs of ${jobs} are done`)
  await pgBoss.stop({ graceful: false })
  return worked
}

/** The contenders by name. */
export const contenders: ReadonlyMap<string, (working: Working) => Promise<JobRound>> = new Map([
  ["Quotewire", quotewire],
  ["graphile-worker 0.18", graphile(false)],
  ["graphile-worker 0.18, local queue", graphile(true)],
  ["pg-boss 12, batches of 500", boss]
])

if (import.meta.main) {
  Child.answer((working: Working) => {
    const contender = contenders.get(process.argv[2] ?? "")
    return contender === undefined ? Promise.reject(new Error("No such contender")) : contender(working)
  })
}
