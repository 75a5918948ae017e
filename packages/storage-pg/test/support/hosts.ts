import { Ids, Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Context, Effect, Layer, type Scope } from "effect"

export type Port = Storage.Storage["Service"]

/** A storage backend as a separate host would open it, until the scope closes. */
export const open = (options: PgStorage.Options): Effect.Effect<Port, PgStorage.DatabaseRefused, Scope.Scope> =>
  Effect.map(Layer.build(PgStorage.layer(options)), Context.get(Storage.Storage))

/** A workspace by its number. */
export const workspace = (place: number): Ids.WorkspaceId =>
  Ids.WorkspaceId.make(`wks_${place.toString().padStart(26, "0")}`)

/** Runs an Effect in real time, even under a test clock: what happens outside this process knows no other. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

const patienceMs = 20_000
const turnMs = 20

/** Retries until it succeeds, for as long as a busy machine may need. */
export const eventually = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  inRealTime(
    Effect.gen(function* () {
      for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += turnMs) {
        const tried = yield* Effect.exit(program)
        if (tried._tag === "Success") return tried.value
        yield* Effect.sleep(turnMs)
      }
      return yield* program
    })
  )

/** Waits until a condition holds, for at most this many milliseconds of real time. */
export const eventuallyIn = (patienceMs: number, holds: () => boolean): Effect.Effect<void> =>
  inRealTime(
    Effect.gen(function* () {
      for (let waitedMs = 0; waitedMs < patienceMs && !holds(); waitedMs += turnMs) yield* Effect.sleep(turnMs)
      if (!holds()) throw new Error(`it does not hold after ${patienceMs} milliseconds`)
    })
  )
