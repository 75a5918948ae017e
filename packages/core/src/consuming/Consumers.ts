import { Clock, Context, Deferred, Effect, Exit, FiberSet, Layer, Scope, Semaphore } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import * as Supervise from "../concurrency/supervise.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type * as ApiError from "../wire/ApiError.ts"
import { Ids } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import {
  alreadyConsumed,
  type ConsumeOptions,
  type ConsumeSettings,
  type EffectEventHandler,
  type InvalidConsumer,
  settingsOf
} from "./ConsumeOptions.ts"
import * as ConsumerSignals from "./ConsumerSignals.ts"
import * as ConsumerStatus from "./consumerStatus.ts"
import * as Dispatcher from "./Dispatcher.ts"
import type { StartHandler } from "./HandlerRuns.ts"
import type * as ParkedEvent from "./ParkedEvent.ts"
import * as ParkedEvents from "./parkedEvents.ts"
import { storeStartPositions } from "./startPositions.ts"
import * as Turns from "./Turns.ts"

/** A consumer that runs in this process. */
export interface Consumption {
  /** Succeeds when the consumer has a position in every feed: from then on it misses no event. */
  readonly ready: Effect.Effect<void>
  /**
   * Stops the consumer. Succeeds when the running handlers have ended or the grace period is over, and the positions
   * are stored.
   */
  readonly stop: Effect.Effect<void>
}

/**
 * Consumes the events of workspaces in this process (docs/guides/consume-events.md).
 *
 * Each event is handled at least once, and the events of a workspace in the order of its feed. Of all processes that
 * share the storage, only one at a time handles a workspace for a given name.
 */
export class Consumers extends Context.Service<
  Consumers,
  {
    /**
     * Starts a consumer, which runs until it is stopped or the scope closes.
     *
     * Refuses an invalid name, handler or option, and a name that this process already consumes.
     */
    readonly consume: <E, R>(
      name: string,
      handler: EffectEventHandler<E, R>,
      options?: ConsumeOptions
    ) => Effect.Effect<Consumption, InvalidConsumer, R | Scope.Scope>
    /** Lists the consumers on this storage by name, with their progress and their numbers of parked events. */
    readonly list: (
      filter?: ConsumerStatus.ConsumerFilter
    ) => Effect.Effect<ReadonlyArray<ConsumerStatus.ConsumerStatus>, StorageUnavailable>
    /**
     * Lists the parked events of a consumer, workspace by workspace, oldest first. Refuses an invalid name or limit.
     */
    readonly listParked: (
      name: string,
      filter?: ParkedEvent.ParkedEventFilter
    ) => Effect.Effect<ReadonlyArray<ParkedEvent.ParkedEvent>, InvalidConsumer | StorageUnavailable>
    /**
     * Requests one more attempt at a parked event, by any process that consumes the name. `not_found` if the event is
     * not parked.
     */
    readonly retryParked: (
      name: string,
      place: ParkedEvent.ParkedEventPlace
    ) => Effect.Effect<void, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Drops a parked event, so that it is never handled. `not_found` if the event is not parked. */
    readonly dropParked: (
      name: string,
      place: ParkedEvent.ParkedEventPlace
    ) => Effect.Effect<void, ApiError.ApiError<"not_found"> | StorageUnavailable>
  }
>()("@quotewire/core/Consumers") {
  static readonly layer: Layer.Layer<Consumers, never, Storage | Workspaces | Ids> = Layer.effect(
    Consumers,
    Effect.gen(function* () {
      const storage = yield* Storage
      const workspaces = yield* Workspaces
      return Consumers.of({
        consume: yield* makeConsume,
        list: (filter = {}) => ConsumerStatus.list(storage, workspaces, filter),
        listParked: (name, filter = {}) => ParkedEvents.list(storage, workspaces, name, filter),
        retryParked: (name, place) => ParkedEvents.setStatus(storage, workspaces, name, place, "retrying"),
        dropParked: (name, place) => ParkedEvents.setStatus(storage, workspaces, name, place, "dropped")
      })
    })
  )
}

/** Starts consumers in this process, one for each name. */
const makeConsume = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const start = yield* makeStart
  const names = new Set<string>()

  return Effect.fnUntraced(function* <E, R>(
    name: string,
    handler: EffectEventHandler<E, R>,
    options: ConsumeOptions = {}
  ) {
    const settings = yield* Effect.fromResult(settingsOf(name, handler, options))
    if (names.has(name)) return yield* alreadyConsumed(name)
    names.add(name)
    const fork = Effect.runForkWith(yield* Effect.context<R>())
    const startHandler: StartHandler = (...event) => fork(Effect.suspend(() => handler(...event)))
    const ready = yield* Deferred.make<void>()
    const scope = yield* Scope.make()
    const askToStop = yield* Scope.provide(start(settings, startHandler, ready), scope)
    const stop = yield* Effect.sync(askToStop).pipe(
      Effect.andThen(Scope.close(scope, Exit.void)),
      Effect.andThen(Effect.sync(() => void names.delete(name))),
      Effect.provideService(Clock.Clock, clock),
      Effect.uninterruptible,
      Effect.cached
    )
    yield* Effect.addFinalizer(() => stop)
    const consumption: Consumption = { ready: Deferred.await(ready), stop }
    return consumption
  })
})

/** Starts a consumer in the scope, and returns a function that asks it to stop. */
const makeStart = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const clock = yield* Clock.Clock
  const turns = Turns.make()

  return Effect.fnUntraced(function* (
    settings: ConsumeSettings,
    startHandler: StartHandler,
    ready: Deferred.Deferred<void>
  ) {
    let isStopping = false
    let wakeAll = () => {}
    const fibers = yield* FiberSet.make()
    const fork = yield* FiberSet.runtime(fibers)()
    // Registered here, so that it runs before the handlers are interrupted.
    yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(fibers), settings.grace_ms))
    const untilStopped = <E>(round: Effect.Effect<unknown, E>) =>
      Supervise.repeatForever(`The consumer ${settings.name}`, round, pauseMs)
    const running = Effect.gen(function* () {
      const started_at = yield* storeStartPositions(storage, workspaces, settings, clock.currentTimeMillisUnsafe())
      yield* Deferred.succeed(ready, undefined)
      const context = {
        storage,
        workspaces,
        clock,
        settings,
        started_at,
        holder: ids.request(),
        slots: Semaphore.makeUnsafe(settings.concurrency),
        isStopping: () => isStopping,
        turns,
        lag: ConsumerSignals.makeLag(settings.name)
      }
      const dispatcher = Dispatcher.make(context, startHandler, fork)
      wakeAll = dispatcher.wakeAll
      yield* untilStopped(Effect.scoped(Dispatcher.dispatchForever(context, dispatcher)))
    })
    yield* Effect.forkScoped(untilStopped(running))
    return () => {
      isStopping = true
      wakeAll()
    }
  })
})

/** The pause after a failure, in milliseconds. */
const pauseMs = secondMs
