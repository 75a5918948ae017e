import { Cause, Effect, Exit, FiberSet, Option, type Scope } from "effect"
import { keepNewest } from "../../concurrency/BoundedMap.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { retryOnConflict } from "../../storage/retryOnConflict.ts"
import type { LeaseLost, Storage, StorageUnavailable, VersionConflict } from "../../storage/Storage.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import * as EventSubscription from "../subscriptions/EventSubscription.ts"
import { loadDelivery, loadHealth, loadSubscription } from "../subscriptions/SubscriptionStore.ts"
import * as AttemptRules from "./AttemptRules.ts"

type StorageService = Storage["Service"]

/** An attempt that is over and is to be written, together with the end of its job. */
export interface Outcome extends AttemptRules.Ended {
  readonly job: ClaimedJob
  readonly subscription_id: SubscriptionId
}

/** Writes what came of an attempt; back when it is stored. */
export type Write = (outcome: Outcome) => Effect.Effect<void, Refused>

type Refused = VersionConflict | LeaseLost | StorageUnavailable

interface Waiting {
  readonly outcome: Outcome
  readonly resume: (written: Effect.Effect<void, Refused>) => void
}

/** So many outcomes go into one change. */
const max_together = 32

/** A batch that is overtaken so often by other processes is written one by one. */
const max_races = 20

/**
 * Writes outcomes: one at a time while an endpoint has one at a time, and else those together that came while another
 * write of the same endpoint was under way. Nobody ever waits for company.
 *
 * Each writes into the health of its endpoint, which is one record: side by side, all but one would lose the race. How many
 * wait is bounded by the lanes of the endpoint. An outcome whose caller gives up before it is sent is forgotten: its job
 * comes due again.
 */
export const make = Effect.fnUntraced(function* (storage: StorageService): Effect.fn.Return<Write, never, Scope.Scope> {
  // Who writes for others is a fiber of its own, so that nobody's end takes the outcomes of others with it.
  const run = yield* FiberSet.makeRuntime()
  const means: Means = { storage, conclude: concluding(storage) }
  const lines = new Map<string, Array<Waiting>>()

  const goOn = (name: string, line: Array<Waiting>) =>
    Effect.sync(() => {
      if (line.length > 0) run(drain(name, line))
      else lines.delete(name)
    })

  const drain = (name: string, line: Array<Waiting>): Effect.Effect<void> =>
    Effect.gen(function* () {
      while (line.length > 0) {
        const batch = line.splice(0, max_together)
        yield* Effect.onInterrupt(writeAll(means, batch), () => Effect.sync(() => answer(batch, Effect.interrupt)))
      }
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          lines.delete(name)
          answer(line, Effect.interrupt)
        })
      )
    )

  const wait = (line: Array<Waiting>, outcome: Outcome) =>
    Effect.callback<void, Refused>((resume) => {
      const waiting: Waiting = { outcome, resume }
      line.push(waiting)
      return Effect.sync(() => {
        const place = line.indexOf(waiting)
        if (place >= 0) line.splice(place, 1)
      })
    })

  return (outcome) =>
    Effect.uninterruptibleMask((restore) => {
      const name = nameOf(outcome)
      const line = lines.get(name)
      if (line !== undefined) return restore(wait(line, outcome))
      const begun: Array<Waiting> = []
      lines.set(name, begun)
      return Effect.ensuring(restore(writeOne(means, outcome)), goOn(name, begun))
    })
})

/** What the functions below work with. */
interface Means {
  readonly storage: StorageService
  /** Writes outcomes of one endpoint as one change. */
  readonly conclude: (outcomes: ReadonlyArray<Outcome>) => Effect.Effect<void, Refused>
}

/** Names the endpoint. */
const nameOf = ({ job, subscription_id }: Outcome): string => `${job.workspace_id} ${subscription_id}`

const answer = (batch: ReadonlyArray<Waiting>, written: Effect.Effect<void, Refused>): void => {
  for (const { resume } of batch) resume(written)
}

/** What has been sent is never sent again because somebody else was faster in writing. */
const writeOne = (means: Means, outcome: Outcome): Effect.Effect<void, Refused> =>
  Effect.catchTag(means.conclude([outcome]), "VersionConflict", () => retryOnConflict(concludeAnew(means, outcome)))

/** Writes a batch as one change; where that is refused, each by itself, so that one does not fail its neighbours. */
const writeAll = Effect.fnUntraced(function* (means: Means, batch: ReadonlyArray<Waiting>) {
  if (batch.length > 1) {
    const outcomes = batch.map(({ outcome }) => outcome)
    const decided = Effect.retry(means.conclude(outcomes), { times: max_races, while: isRace })
    const together = yield* Effect.exit(decided)
    if (!isRefused(together)) return answer(batch, together)
  }
  for (const waiting of batch) answer([waiting], yield* Effect.exit(writeOne(means, waiting.outcome)))
})

/** Whether another process has written to the same endpoint at the same moment: nothing that is wrong with any of these. */
const isRace = (error: Refused): boolean => error._tag === "VersionConflict" && error.kind !== "delivery"

/** Whether one of several may be to blame: that storage is away says nothing of any. */
const isRefused = (written: Exit.Exit<void, Refused>): boolean =>
  Exit.isFailure(written) && Option.getOrNull(Cause.findErrorOption(written.cause))?._tag !== "StorageUnavailable"

/** Concludes over whatever stands there now. */
const concludeAnew = Effect.fnUntraced(function* ({ storage, conclude }: Means, outcome: Outcome) {
  const { job, subscription_id, delivery } = outcome
  const found = yield* loadDelivery(storage, job.workspace_id, subscription_id, delivery.event_id)
  if (found !== null) return yield* conclude([{ ...outcome, delivery: found }])
  // A reset has erased it.
  yield* storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
})

/** An endpoint as this process has last written it. */
interface Written {
  readonly endpoint: AttemptRules.Endpoint
  /** How many writes in a row it was this process's alone. */
  readonly alone: number
}

/** After so many it is taken as it is remembered. Where others write as well, memories would be refused one after another. */
const enough_alone = 8

const max_remembered = 10_000

/**
 * Writes outcomes of one endpoint as one change.
 *
 * Their deliveries are taken as the attempts have found them, and the endpoint as it is remembered while nobody else
 * writes to it: the version rule tells if one of them is not so any more. An endpoint of a sandbox is read each time, as a
 * reset lets the versions of its health begin anew.
 */
const concluding = (storage: StorageService): Means["conclude"] => {
  const remembered = new Map<string, Written>()

  const load = Effect.fnUntraced(function* ({ job: { workspace_id }, subscription_id: id }: Outcome) {
    const [subscription, health] = yield* Effect.all(
      [loadSubscription(storage, workspace_id, id), loadHealth(storage, workspace_id, id)],
      { concurrency: 2 }
    )
    const endpoint: AttemptRules.Endpoint | null = subscription === null ? null : { subscription, health }
    return endpoint
  })

  return Effect.fnUntraced(function* (outcomes) {
    const [first] = outcomes
    if (first === undefined) return
    const name = nameOf(first)
    const last = remembered.get(name)
    const before = last !== undefined && last.alone >= enough_alone ? last.endpoint : yield* load(first)
    const { workspace_id } = first.job
    const finishes = outcomes.map(({ job }) => job)
    if (before === null) return yield* storage.commit(Change.make(workspace_id, { finishes }))
    const { endpoint, writes, jobs } = AttemptRules.conclude(before, outcomes)
    const { id, version } = before.subscription
    const expects = [{ kind: EventSubscription.kind.name, id, version }]
    const change = Change.make(workspace_id, { writes, expects, jobs, finishes })
    yield* Effect.onError(storage.commit(change), () => Effect.sync(() => remembered.delete(name)))
    if (endpoint.subscription.environment === "sandbox") return
    const alone = before.health.version === last?.endpoint.health.version ? last.alone + 1 : 1
    keepNewest(remembered, max_remembered, name, { endpoint, alone })
  })
}
