import { Clock, Context, Deferred, Effect, Exit, FiberSet, Layer, Scope, Semaphore } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import * as Supervise from "../concurrency/Supervise.ts"
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
import * as ConsumerMetrics from "./ConsumerMetrics.ts"
import * as ConsumerStatus from "./consumerStatus.ts"
import * as Dispatcher from "./Dispatcher.ts"
import * as HandlerLock from "./HandlerLock.ts"
import type { StartHandler } from "./HandlerRuns.ts"
import type * as ParkedEvent from "./ParkedEvent.ts"
import * as ParkedEvents from "./parkedEvents.ts"
import { storeStartPositions } from "./startPositions.ts"

/** A consumer that runs in this process. */
export interface Consumption {
  /** Succeeds once the consumer has a position in every feed. From then on, it misses no event. */
  readonly ready: Effect.Effect<void>
  /**
   * Stops the consumer. Succeeds once the running handlers have ended or the grace period is over, and the positions
   * are stored.
   */
  readonly stop: Effect.Effect<void>
}

/**
 * Consumes the events of workspaces in this process (docs/guides/consume-events.md).
 *
 * Each event is handled at least once, and a workspace's events are handled in feed order. For a given consumer name,
 * only one of the processes that share the storage handles a workspace at a time.
 */
export class Consumers extends Context.Service<
  Consumers,
  {
    /**
     * Starts a consumer that runs until it is stopped or the scope closes.
     *
     * Fails if the name, the handler or an option is invalid, or if this process already has a consumer with this name.
     */
    readonly consume: <E, R>(
      name: string,
      handler: EffectEventHandler<E, R>,
      options?: ConsumeOptions
    ) => Effect.Effect<Consumption, InvalidConsumer, R | Scope.Scope>
    /** Lists the storage's consumers by name, with their progress and the number of their parked events. */
    readonly list: (
      filter?: ConsumerStatus.ConsumerFilter
    ) => Effect.Effect<ReadonlyArray<ConsumerStatus.ConsumerStatus>, StorageUnavailable>
    /**
     * Lists a consumer's parked events, workspace by workspace, oldest first. Fails if the name or the limit is
     * invalid.
     */
    readonly listParked: (
      name: string,
      filter?: ParkedEvent.ParkedEventFilter
    ) => Effect.Effect<ReadonlyArray<ParkedEvent.ParkedEvent>, InvalidConsumer | StorageUnavailable>
    /**
     * Requests another attempt at a parked event, in any process that runs the consumer. Fails with `not_found` if the
     * event is not parked.
     */
    readonly retryParked: (
      name: string,
      place: ParkedEvent.ParkedEventPlace
    ) => Effect.Effect<void, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * Drops a parked event, so that the consumer never handles it. Fails with `not_found` if the event is not parked.
     */
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
        retryParked: ParkedEvents.makeSetStatus(storage, workspaces, "retrying"),
        dropParked: ParkedEvents.makeSetStatus(storage, workspaces, "dropped")
      })
    })
  )
}

/** Makes a function that starts consumers in this process, at most one for each name. */
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

/** Makes a function that starts a consumer in the scope, and returns a function that asks the consumer to stop. */
const makeStart = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const clock = yield* Clock.Clock
  const handlerLock = HandlerLock.make()

  return Effect.fnUntraced(function* (
    settings: ConsumeSettings,
    startHandler: StartHandler,
    whenReady: Deferred.Deferred<void>
  ) {
    let isStopping = false
    let wakeAll = () => {}
    const fibers = yield* FiberSet.make()
    const fork = yield* FiberSet.runtime(fibers)()
    // Finalizers run in reverse order, so this one runs before the handlers are interrupted.
    yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(fibers), settings.grace_ms))
    const untilStopped = <E>(round: Effect.Effect<unknown, E>) =>
      Supervise.repeatForever(`The consumer ${settings.name}`, round, pauseMs)
    const running = Effect.gen(function* () {
      const started_at = yield* storeStartPositions(storage, workspaces, settings, clock.currentTimeMillisUnsafe())
      yield* Deferred.succeed(whenReady, undefined)
      const context = {
        storage,
        workspaces,
        clock,
        settings,
        started_at,
        holder: ids.request(),
        slots: Semaphore.makeUnsafe(settings.concurrency),
        isStopping: () => isStopping,
        handlerLock,
        lag: ConsumerMetrics.makeLag(settings.name)
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

/** The pause after a failed round, in milliseconds. */
const pauseMs = secondMs
