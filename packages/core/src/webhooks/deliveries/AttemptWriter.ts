import { Cause, Effect, Exit, Option, type Scope } from "effect"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import * as Batcher from "../../storage/Batcher.ts"
import * as Change from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import {
  type LeaseLost,
  retryOnConflict,
  type Storage,
  StorageUnavailable,
  type VersionConflict
} from "../../storage/Storage.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import * as EventSubscription from "../subscriptions/EventSubscription.ts"
import { loadDelivery, loadHealth, loadSubscription } from "../subscriptions/SubscriptionStore.ts"
import * as AttemptRules from "./AttemptRules.ts"

type StorageService = Storage["Service"]

/** The result of an attempt, to be committed together with the end of its job. */
export interface AttemptResult extends AttemptRules.EndedAttempt {
  readonly job: ClaimedJob
  readonly subscription_id: SubscriptionId
}

/** Commits the result of an attempt. Returns when it is stored. */
export type Write = (result: AttemptResult) => Effect.Effect<void, Refused>

type Refused = VersionConflict | LeaseLost | StorageUnavailable

/** At most this many results share a change. */
const max_batch = 32
/** Above the sum of an endpoint's lane limits, so it is never reached. */
const max_waiting = 1_000
/** As long as a lease. After it the job comes due again. */
const max_wait_ms = 30_000
/** A batch that conflicts with other processes this often is committed one result at a time. */
const max_races = 20

/**
 * Commits results of attempts. Results of one endpoint that end while another commit of it runs share the next change.
 *
 * Each result updates the health of its endpoint, which is one record: of several parallel commits all but one would
 * conflict. If a caller gives up before its result is sent, the result is dropped and the job comes due again.
 */
export const make = Effect.fnUntraced(function* (storage: StorageService): Effect.fn.Return<Write, never, Scope.Scope> {
  const commit = makeCommit(storage)

  /** Reads the delivery again and commits the result on top of it. */
  const reloadAndCommit = Effect.fnUntraced(function* (result: AttemptResult) {
    const { job, subscription_id, delivery } = result
    const found = yield* loadDelivery(storage, job.workspace_id, subscription_id, delivery.event_id)
    if (found !== null) return yield* commit([{ ...result, delivery: found }])
    // A reset has erased the delivery.
    yield* storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
  })

  /** After a conflict only the commit is repeated. The request to the endpoint is never sent again. */
  const writeOne = (result: AttemptResult): Effect.Effect<void, Refused> =>
    Effect.catchTag(commit([result]), "VersionConflict", () => retryOnConflict(reloadAndCommit(result)))

  /** Commits a batch as one change. If that is refused, each result alone, so that one cannot fail the others. */
  const send = Effect.fnUntraced(function* (results: ReadonlyArray<AttemptResult>) {
    if (results.length > 1) {
      const written = yield* Effect.exit(Effect.retry(commit(results), { times: max_races, while: isRace }))
      if (!isRefused(written)) return results.map(() => written)
    }
    return yield* Effect.forEach(results, (result) => Effect.exit(writeOne(result)))
  })

  const unavailable = new StorageUnavailable({ retry_after_seconds: 1 })
  return yield* Batcher.make<AttemptResult, void, Refused>({
    ...{ send, unavailable, max_waiting, max_wait_ms },
    max_batch,
    queueOf: endpointKeyOf
  })
})

/** The key of the endpoint's queue. */
const endpointKeyOf = ({ job, subscription_id }: AttemptResult): string => `${job.workspace_id} ${subscription_id}`

/** Whether another process has written to the same endpoint at the same time. The results themselves are fine. */
const isRace = (error: Refused): boolean => error._tag === "VersionConflict" && error.kind !== "delivery"

/** Whether a single result may have caused the refusal. If storage is unavailable, none has. */
const isRefused = (written: Exit.Exit<void, Refused>): boolean =>
  Exit.isFailure(written) && Option.getOrNull(Cause.findErrorOption(written.cause))?._tag !== "StorageUnavailable"

/** An endpoint as this process last wrote it. */
interface Written {
  readonly endpoint: AttemptRules.Endpoint
  /** How many commits in a row no other process came between. */
  readonly uncontended: number
}

/** After this many, the cached endpoint is used without reading. If others write too, cached versions would only conflict. */
const min_uncontended = 8

const max_cached = 10_000

/**
 * Commits the results of one endpoint as one change.
 *
 * Optimistic: it uses the deliveries as the attempts read them, and the endpoint from a cache as long as no other process
 * writes to it. The version rule refuses what is outdated. In a sandbox the endpoint is read each time, because a reset
 * restarts the versions of its health.
 */
const makeCommit = (storage: StorageService) => {
  const cache = new BoundedMap<string, Written>(max_cached)

  const load = Effect.fnUntraced(function* ({ job: { workspace_id }, subscription_id: id }: AttemptResult) {
    const [subscription, health] = yield* Effect.all(
      [loadSubscription(storage, workspace_id, id), loadHealth(storage, workspace_id, id)],
      { concurrency: 2 }
    )
    const endpoint: AttemptRules.Endpoint | null = subscription === null ? null : { subscription, health }
    return endpoint
  })

  return Effect.fnUntraced(function* (results: ReadonlyArray<AttemptResult>) {
    const [first] = results
    if (first === undefined) return
    const name = endpointKeyOf(first)
    const last = cache.get(name)
    const before = last !== undefined && last.uncontended >= min_uncontended ? last.endpoint : yield* load(first)
    const { workspace_id } = first.job
    const finishes = results.map(({ job }) => job)
    if (before === null) return yield* storage.commit(Change.make(workspace_id, { finishes }))
    const { endpoint, writes, jobs } = AttemptRules.applyAttempts(before, results)
    const { id, version } = before.subscription
    const expects = [{ kind: EventSubscription.kind.name, id, version }]
    const change = Change.make(workspace_id, { writes, expects, jobs, finishes })
    yield* Effect.onError(storage.commit(change), () => Effect.sync(() => cache.delete(name)))
    if (endpoint.subscription.environment === "sandbox") return
    const uncontended = before.health.version === last?.endpoint.health.version ? last.uncontended + 1 : 1
    cache.set(name, { endpoint, uncontended })
  })
}
