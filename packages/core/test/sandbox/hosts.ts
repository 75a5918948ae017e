import { NodeCrypto } from "@quotewire/http"
import { Clock, Context, Deferred, Effect, Exit, Layer, Option, Scope } from "effect"
import type { Services } from "../../src/Quotewire.ts"
import { Runner } from "../../src/runner/Runner.ts"
import { Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World, type WorldOptions } from "../../src/testing/World.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"

/** The faults that can strike a host at a storage call. A failing storage may or may not have stored the change. */
export const faults = [
  "dies before",
  "dies after",
  "pauses before",
  "pauses after",
  "storage fails before",
  "storage fails after"
] as const
export type Fault = (typeof faults)[number]

/** The fault that strikes a host at its next storage call; null for none. */
export type Strike = (operation: Operation) => Fault | null

/** The storage calls that can be struck. */
export type Operation = "commit" | "get" | "page" | "feed" | "claim" | "release" | "erase"

type There = World | Services | Storage

/** How hosts are started. */
export interface HostOptions extends WorldOptions {
  /** Opens a host's storage; that of the world by default. */
  readonly open?: Effect.Effect<Storage["Service"], never, Scope.Scope>
}

/** A host that shares its storage with others. */
export interface Host {
  /** Calls it. None if it dies before it answers. */
  readonly ask: <A>(call: Effect.Effect<A, ApiError, There>) => Effect.Effect<Option.Option<Exit.Exit<A, ApiError>>>
  readonly isDead: () => boolean
}

/** The number of storage calls in progress. If storage takes real time, the test clock stands still for them. */
let underWay = 0

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Waits in real time until no storage call, and nothing that the last one caused, is in progress. */
export const still = Effect.gen(function* () {
  for (let quiet = 0; quiet < 3; quiet = underWay === 0 ? quiet + 1 : 0) yield* turn
})

/** Longer than a lease, and longer than a caller waits, so others finish its work before it resumes. */
export const pausedMs = 75_000

const unavailable = new StorageUnavailable({ retry_after_seconds: 1 })

/** Starts a host on the world's storage. It serves the same organization, and runs due jobs. */
export const begin = Effect.fnUntraced(function* (strike: Strike, { open, ...options }: HostOptions) {
  const { keys } = yield* World
  const died = yield* Deferred.make<void>()
  const clock = yield* Clock.Clock
  let isReady = false
  let isDead = false
  let goesOnAt = 0

  const dies = Effect.suspend(() => {
    isDead = true
    return Effect.andThen(Deferred.succeed(died, undefined), Effect.never)
  })
  const pauses = Effect.sync(() => {
    goesOnAt = clock.currentTimeMillisUnsafe() + pausedMs
  })
  const runs = Effect.suspend(() =>
    isDead ? Effect.never : Effect.sleep(Math.max(0, goesOnAt - clock.currentTimeMillisUnsafe()))
  )
  const through = Effect.fnUntraced(function* <A, E>(operation: Operation, call: Effect.Effect<A, E>) {
    if (!isReady) return yield* call
    yield* runs
    const fault = strike(operation)
    if (fault === "dies before") yield* dies
    if (fault === "storage fails before") return yield* unavailable
    if (fault === "pauses before") yield* Effect.andThen(pauses, runs)
    underWay++
    const exit = yield* Effect.ensuring(
      Effect.exit(call),
      Effect.sync(() => {
        underWay--
      })
    )
    if (fault === "dies after") yield* dies
    if (fault === "storage fails after") return yield* unavailable
    if (fault === "pauses after") yield* pauses
    yield* runs
    return yield* exit
  })

  // Nothing closes its scope: a dead host releases nothing.
  const scope = yield* Scope.make()
  const shared = open === undefined ? yield* Storage : yield* Scope.provide(open, scope)
  const storage = Storage.of({
    ...shared,
    commit: (change) => through("commit", shared.commit(change)),
    get: (key) => through("get", shared.get(key)),
    page: (query) => through("page", shared.page(query)),
    feed: (query) => through("feed", shared.feed(query)),
    claim: (query) => through("claim", shared.claim(query)),
    release: (leases) => through("release", shared.release(leases)),
    erase: (erasure) => through("erase", shared.erase(erasure))
  })
  const world = World.layer(Layer.succeed(Storage, storage), { cryptography: NodeCrypto.layer, ...options })
  const services = yield* Scope.provide(Layer.build(Layer.fresh(world)), scope)
  yield* Scope.provide(Context.get(services, Runner).forever, scope)
  const own = Context.get(services, World)
  const serving = World.of({
    ...own,
    call: (operation, input, callOptions = {}) =>
      own.call(operation, input, { key: keys.sandbox.server, ...callOptions })
  })
  isReady = true
  const host: Host = {
    ask: (call) =>
      Effect.raceFirst(
        Effect.asSome(Effect.exit(Effect.provide(call, Context.add(services, World, serving)))),
        Effect.as(Deferred.await(died), Option.none())
      ),
    isDead: () => isDead
  }
  return host
})

/** Calls hosts in turn until one answers, as the guide tells callers to. Restarts dead hosts. */
export const callerOf = (hosts: Array<Host>, strike: Strike, options: HostOptions) => {
  let calls = 0
  const next = Effect.suspend(() => {
    const place = calls++ % hosts.length
    const host = hosts[place]
    if (host !== undefined && !host.isDead()) return Effect.succeed(host)
    return Effect.tap(begin(strike, options), (begun) => Effect.sync(() => hosts.splice(place, 1, begun)))
  })
  return Effect.fnUntraced(function* <A>(call: Effect.Effect<A, ApiError, There>) {
    while (true) {
      const host = yield* next
      const answer = Option.flatten(yield* Effect.timeoutOption(host.ask(call), 40_000))
      if (Option.isSome(answer)) {
        if (Exit.isSuccess(answer.value)) return answer.value.value
        const error = yield* Effect.flip(answer.value)
        if (error._tag !== "service_unavailable" && error.retry_action !== "wait") return yield* error
      }
      yield* Effect.sleep(100)
    }
  })
}
