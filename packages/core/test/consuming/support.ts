import { it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { toStoredOrganization } from "../../src/access/ApiKey.ts"
import type { Environment } from "../../src/access/Caller.ts"
import * as Workspaces from "../../src/access/Workspaces.ts"
import type { ConsumeOptions, EffectEventHandler, InvalidConsumer } from "../../src/consuming/ConsumeOptions.ts"
import { Consumers, type Consumption } from "../../src/consuming/Consumers.ts"
import * as Event from "../../src/events/Event.ts"
import * as Change from "../../src/storage/Change.ts"
import { commit, directoryWorkspace, Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { EventId, Ids, OrganizationId, WorkspaceId } from "../../src/wire/Ids.ts"

const body = (place: number) => place.toString().padStart(26, "0")

export const workspaceId = (place: number) => WorkspaceId.make(`wks_${body(place)}`)
export const organizationId = (place: number) => OrganizationId.make(`org_${body(place)}`)
export const eventId = (place: number) => EventId.make(`evt_${body(place)}`)

/** Runs a test on a storage backend in memory. */
export const test = (name: string, run: Effect.Effect<void, unknown, Storage | Scope.Scope>) =>
  it.effect(name, () => Effect.scoped(Effect.provide(run, MemoryStorage.layer)))

/** Creates an organization. Its sandbox is workspace `2 * place`, its live workspace the next one. */
export const organization = Effect.fnUntraced(function* (place: number) {
  const storage = yield* Storage
  const created_at = yield* Clock.currentTimeMillis
  const workspaces = { sandbox: workspaceId(2 * place), live: workspaceId(2 * place + 1) }
  for (const environment of ["sandbox", "live"] as const) {
    const workspace = Workspaces.create(workspaces[environment], organizationId(place), environment, created_at)
    yield* commit(storage, Workspaces.changeOf(workspace))
  }
  const stored = { id: organizationId(place), name: "Acme", created_at, workspaces }
  yield* commit(storage, Change.make(directoryWorkspace, { writes: [toStoredOrganization(stored)] }))
})

/** Commits events with these places to the feed of a workspace. */
export const emit = Effect.fnUntraced(function* (
  workspace: number,
  numbers: ReadonlyArray<number>,
  { type = "quote.created", environment = "sandbox" }: { type?: Event.EventType; environment?: Environment } = {}
) {
  const storage = yield* Storage
  const at = yield* Clock.currentTimeMillis
  const events = numbers.map((place) =>
    Event.record({
      id: eventId(place),
      type,
      at,
      environment,
      line: "renters",
      resource: { type: "quote", id: `qt_${body(place)}`, version: 1 }
    })
  )
  yield* commit(storage, Change.make(workspaceId(workspace), { events }))
})

/** The places of events `from` to `to`. */
export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** What a handler received. */
export interface Handled {
  readonly host: string
  readonly place: number
  readonly attempt: number
}

export const placeOf = ({ id }: Event.Event) => Number(id.slice(4))

/** Handles an event without doing anything. */
const nothing: EffectEventHandler = () => Effect.void

/** A process that consumes from the storage of the test. */
export interface Host {
  readonly consumers: Consumers["Service"]
  /** Consumes, and records what the handler receives. */
  readonly consume: (
    name?: string,
    handler?: EffectEventHandler,
    options?: ConsumeOptions
  ) => Effect.Effect<Consumption, InvalidConsumer>
  /** The process dies: it does nothing more, and releases nothing. */
  readonly kill: () => void
  /** Its storage fails from now on, or works again. */
  readonly strike: (fault: Fault | null) => void
  readonly isDead: () => boolean
  /** The process ends as it should. */
  readonly close: Effect.Effect<void>
}

/**
 * How storage fails for a process: it does not answer, its answers are lost, or each call takes longer than a lease.
 */
export type Fault = "away" | "unanswered" | "slow"

/** Starts a process, whose clock may be behind. What its handlers receive is recorded before they do anything. */
export const host = Effect.fnUntraced(function* (name: string, handled: Array<Handled>, { behind_ms = 0 } = {}) {
  const clock = yield* Clock.Clock
  const port = yield* Storage
  let isDead = false
  let struck: Fault | null = null
  const unavailable = new StorageUnavailable({ retry_after_seconds: 1 })
  const through = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | StorageUnavailable> =>
    Effect.suspend((): Effect.Effect<A, E | StorageUnavailable> => {
      if (isDead) return Effect.never
      if (struck === "away") return Effect.fail(unavailable)
      if (struck === "unanswered") return Effect.andThen(call, Effect.fail(unavailable))
      return struck === "slow" ? Effect.andThen(Effect.sleep(8_000), call) : call
    })
  const storage = Storage.of({
    ...port,
    commit: (change) => through(port.commit(change)),
    get: (key) => through(port.get(key)),
    page: (query) => through(port.page(query)),
    feed: (query) => through(port.feed(query)),
    workspaces: (after, limit) => through(port.workspaces(after, limit))
  })
  const layer = Consumers.layer.pipe(
    Layer.provide([Workspaces.Workspaces.layer, Ids.layer]),
    Layer.provide([Layer.succeed(Storage, storage), SecureRandom.layerWebCrypto]),
    Layer.provide(Layer.succeed(Clock.Clock, behind(clock, behind_ms)))
  )
  // Nothing closes the scope of a dead process, so it releases nothing.
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => (isDead ? Effect.void : Scope.close(scope, Exit.void)))
  const consumers = Context.get(yield* Layer.build(Layer.fresh(layer)), Consumers)
  const running: Host = {
    consumers,
    consume: (consumer = "billing", handler = nothing, options = {}) =>
      Scope.provide(
        consumers.consume(
          consumer,
          (event, context) =>
            Effect.suspend(() => {
              if (isDead) return Effect.never
              handled.push({ host: name, place: placeOf(event), attempt: context.attempt })
              return handler(event, context)
            }),
          // A failing test ends immediately, although no more time passes.
          { grace_ms: 0, ...options }
        ),
        scope
      ),
    kill: () => {
      isDead = true
    },
    strike: (fault) => {
      struck = fault
    },
    isDead: () => isDead,
    close: Scope.close(scope, Exit.void)
  }
  return running
})

/** A clock that is this many milliseconds behind another. */
const behind = (clock: Clock.Clock, millis: number): Clock.Clock => ({
  ...clock,
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() - millis,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now - millis),
  sleep: (duration) => clock.sleep(duration)
})

export const places = (handled: ReadonlyArray<Handled>) => handled.map(({ place }) => place)
