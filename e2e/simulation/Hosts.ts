import { Allowance, Carrier, Consumers, Quotewire, WebhookSender } from "@quotewire/core"
import { type Context, Effect, Exit, Layer, Scope } from "effect"
import type * as Chance from "../chaos/Chance.ts"
import * as Ledger from "./Ledger.ts"
import type { Machine, Process } from "./Machine.ts"
import * as SimulatedCryptography from "./SimulatedCryptography.ts"
import type * as SimulatedStorage from "./SimulatedStorage.ts"
import type { Story } from "./Story.ts"
import type { Weather } from "./Weather.ts"
import * as World from "./World.ts"

/*
 * Hosts that share a storage backend. Each serves calls, runs due jobs and consumes events, in its own process, which
 * can die.
 */

/** What the hosts of a story need. */
export interface HostParts {
  readonly machine: Machine
  readonly chance: Chance.Chance
  readonly ledger: Ledger.Ledger
  readonly weather: Weather
  readonly storage: SimulatedStorage.Shared
  readonly carriers: ReadonlyArray<Carrier.CarrierAdapter>
  readonly sender: WebhookSender.WebhookSender["Service"]
  readonly story: Story
}

/** A slot for a host: the current host, or its successor after it has died. */
export interface Host {
  readonly number: number
  readonly isUp: () => boolean
  /**
   * Runs an effect in the host, and calls back with its exit, unless the host dies first. False if the host is down.
   */
  readonly run: <A, E>(
    effect: Effect.Effect<A, E, Quotewire.Services>,
    then: (exit: Exit.Exit<A, E>) => void
  ) => boolean
  readonly start: () => void
  /** Kills the host after this many more of its steps, and starts another one after a while. */
  readonly kill: (down_ms: number, after_steps: number) => void
  /** Stops the host as an operator does: it finishes running work. Another host starts after a while. */
  readonly stop: (down_ms: number) => void
  readonly pause: (for_ms: number) => void
  readonly setClockApart: (apart_ms: number) => void
}

/** How long a process takes to start. */
const startMs = 500
/** How long a consumer's handler takes. */
const handlingMs = 50

const consume = ({ chance, ledger, machine, weather }: HostParts) =>
  Effect.flatMap(Consumers, (consumers) =>
    consumers.consume(
      "bookkeeping",
      (event, { environment, organization_id }) =>
        Effect.andThen(
          Effect.sleep(chance.below(handlingMs)),
          Effect.suspend(() => {
            if (weather.consumersFail()) {
              ledger.reached.add("fault: consumers fail")
              return Effect.fail("the handler fails")
            }
            const workspace_id = `${organization_id} ${environment}`
            ledger.handled.push({ ...Ledger.momentOf(machine), workspace_id, event_id: event.id })
            return Effect.void
          })
        ),
      { from: "oldest", max_attempts: 1_000, max_backoff_ms: 5_000 }
    )
  )

/** How many starts an organization may make per minute, in each environment, in a story with limits. */
export const startsPerMinute = 4

const limited = { ...Allowance.noLimits.keys.live, start: { per_minute: startsPerMinute, per_day: null } }
const tightLimits: Allowance.Limits = { ...Allowance.noLimits, keys: { sandbox: limited, live: limited } }

const layerOf = (parts: HostParts, process: Process, number: number) =>
  Quotewire.layer.pipe(
    Layer.provideMerge(parts.storage(process, number)),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(Carrier.CarrierAdapters, parts.carriers),
        Layer.succeed(WebhookSender.WebhookSender, parts.sender),
        Layer.succeed(Allowance.AllowanceLimits, parts.story.has_limits ? tightLimits : Allowance.noLimits),
        World.sealKeys,
        SimulatedCryptography.layer(parts.chance)
      )
    )
  )

/** Makes the hosts of a story without starting them. */
export const make = (parts: HostParts): ReadonlyArray<Host> =>
  Array.from({ length: parts.story.hosts }, (_, number) => makeHost(parts, number))

const makeHost = (parts: HostParts, number: number): Host => {
  const { machine, story } = parts
  const { reached } = parts.ledger
  let process: Process | null = null
  let services: Context.Context<Quotewire.Services> | null = null
  let scope = Scope.makeUnsafe()
  let apartMs = 0

  const kill = (downMs: number, afterSteps = 0) => {
    const dying = process
    if (dying !== null && afterSteps > 0) {
      return dying.afterSteps(afterSteps, () => {
        if (process !== dying) return
        reached.add("fault: a host dies between its steps")
        kill(downMs)
      })
    }
    if (dying !== null) reached.add("deed: kill")
    dying?.kill()
    process = null
    services = null
    machine.later(downMs, null, start)
  }

  const start = () => {
    if (process !== null) return
    const started = machine.start(`host ${number}`)
    process = started
    started.setSkew(apartMs)
    scope = Scope.makeUnsafe()
    const built = Effect.gen(function* () {
      yield* Effect.sleep(startMs)
      const context = yield* Layer.build(layerOf(parts, started, number))
      yield* Effect.provide(Layer.build(Quotewire.worker), context)
      if (story.consumes) yield* Effect.provide(consume(parts), context)
      return context
    })
    started.run(Scope.provide(built, scope), (exit) => {
      if (Exit.isSuccess(exit)) {
        services = exit.value
        return
      }
      // A host that cannot start exits and is restarted, as process managers do.
      reached.add("fault: a host cannot start")
      kill(1_000)
    })
  }

  const stop = (downMs: number) => {
    const [stopping, ending] = [process, services]
    if (stopping === null || ending === null) return
    services = null
    const close = Effect.andThen(Effect.provide(Quotewire.releaseLongPolls, ending), Scope.close(scope, Exit.void))
    stopping.run(close, () => {
      reached.add("deed: stop")
      if (process === stopping) kill(downMs)
    })
  }

  return {
    number,
    isUp: () => services !== null,
    run: (effect, then) => {
      if (process === null || services === null) return false
      process.run(Effect.provide(effect, services), then)
      return true
    },
    start,
    kill,
    stop,
    pause: (forMs) => {
      if (process !== null) reached.add("deed: pause")
      process?.pause(forMs)
    },
    setClockApart: (ms) => {
      if (process !== null) reached.add("deed: set the clock")
      apartMs = ms
      process?.setSkew(ms)
    }
  }
}
