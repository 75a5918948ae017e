import { Cause, Effect, Exit, Option, type Scope } from "effect"
import { keepNewest } from "../../concurrency/BoundedMap.ts"
import * as Batcher from "../../storage/Batcher.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { retryOnConflict } from "../../storage/retryOnConflict.ts"
import { type LeaseLost, type Storage, StorageUnavailable, type VersionConflict } from "../../storage/Storage.ts"
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

/** So many outcomes go into one change. */
const max_together = 32
/** More than the lanes of an endpoint let be under way: a bound that is never reached. */
const max_waiting = 1_000
/** As long as a lease: then the job comes due again. */
const max_wait_ms = 30_000
/** A batch that is overtaken so often by other processes is written one by one. */
const max_races = 20

/**
 * Writes outcomes, those of one endpoint together that come while another write of it is under way.
 *
 * Each writes into the health of its endpoint, which is one record: side by side, all but one would lose the race. An
 * outcome whose caller gives up before it is sent is forgotten: its job comes due again.
 */
export const make = Effect.fnUntraced(function* (storage: StorageService): Effect.fn.Return<Write, never, Scope.Scope> {
  const conclude = concluding(storage)

  /** Concludes over whatever stands there now. */
  const concludeAnew = Effect.fnUntraced(function* (outcome: Outcome) {
    const { job, subscription_id, delivery } = outcome
    const found = yield* loadDelivery(storage, job.workspace_id, subscription_id, delivery.event_id)
    if (found !== null) return yield* conclude([{ ...outcome, delivery: found }])
    // A reset has erased it.
    yield* storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
  })

  /** What has been sent is never sent again because somebody else was faster in writing. */
  const writeOne = (outcome: Outcome): Effect.Effect<void, Refused> =>
    Effect.catchTag(conclude([outcome]), "VersionConflict", () => retryOnConflict(concludeAnew(outcome)))

  /** Writes a batch as one change; if that is refused, each by itself, so that one does not fail its neighbours. */
  const send = Effect.fnUntraced(function* (outcomes: ReadonlyArray<Outcome>) {
    if (outcomes.length > 1) {
      const together = yield* Effect.exit(Effect.retry(conclude(outcomes), { times: max_races, while: isRace }))
      if (!isRefused(together)) return outcomes.map(() => together)
    }
    return yield* Effect.forEach(outcomes, (outcome) => Effect.exit(writeOne(outcome)))
  })

  const unavailable = new StorageUnavailable({ retry_after_seconds: 1 })
  return yield* Batcher.make<Outcome, void, Refused>({
    ...{ send, unavailable, max_waiting, max_wait_ms },
    max_batch: max_together,
    queueOf: nameOf
  })
})

/** Names the endpoint. */
const nameOf = ({ job, subscription_id }: Outcome): string => `${job.workspace_id} ${subscription_id}`

/** Whether another process has written to the same endpoint at the same moment: nothing that is wrong with any of these. */
const isRace = (error: Refused): boolean => error._tag === "VersionConflict" && error.kind !== "delivery"

/** Whether one of several may be to blame: that storage is away says nothing of any. */
const isRefused = (written: Exit.Exit<void, Refused>): boolean =>
  Exit.isFailure(written) && Option.getOrNull(Cause.findErrorOption(written.cause))?._tag !== "StorageUnavailable"

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
const concluding = (storage: StorageService) => {
  const remembered = new Map<string, Written>()

  const load = Effect.fnUntraced(function* ({ job: { workspace_id }, subscription_id: id }: Outcome) {
    const [subscription, health] = yield* Effect.all(
      [loadSubscription(storage, workspace_id, id), loadHealth(storage, workspace_id, id)],
      { concurrency: 2 }
    )
    const endpoint: AttemptRules.Endpoint | null = subscription === null ? null : { subscription, health }
    return endpoint
  })

  return Effect.fnUntraced(function* (outcomes: ReadonlyArray<Outcome>) {
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
