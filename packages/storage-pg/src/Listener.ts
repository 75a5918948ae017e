import { PgConnection } from "@effect/sql-pg"
import { type Change, Supervise } from "@quotewire/core"
import { Effect, type Exit, Queue, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { channel, hear } from "./Announcer.ts"
import { inRealTime } from "./inRealTime.ts"

const reconnect_ms = 1_000
/** How often the connection is tried: one on which nothing comes may be dead, and nobody would know. */
const beat_ms = 10_000
/** The longest that an answer takes. */
const answer_ms = 5_000

/** A connection that listens. */
interface Ear {
  readonly session: PgConnection.PgConnection
  readonly notifications: Queue.Dequeue<PgConnection.Notification, SqlError>
}

const open = Effect.fnUntraced(function* (
  connection: PgConnection.Config
): Effect.fn.Return<Ear, SqlError, Scope.Scope> {
  const connected = yield* Scope.make()
  const listening = yield* Scope.make()
  // The connection is closed first: it may be dead, and then it cannot be asked to listen no more.
  yield* Effect.addFinalizer((exit: Exit.Exit<unknown, unknown>) =>
    Effect.andThen(Scope.close(connected, exit), Scope.close(listening, exit))
  )
  const base = yield* Scope.provide(PgConnection.make(connection), connected)
  const session = yield* Scope.provide(base.pin, listening)
  return { session, notifications: yield* Scope.provide(session.listen(channel), listening) }
})

/**
 * Hears what other hosts tell, for as long as the scope lives; it is listening when this returns.
 *
 * A lost connection is made again. What was told meanwhile is lost, so everybody is told to look at everything then.
 */
export const listen = Effect.fnUntraced(function* (
  host: string,
  connection: PgConnection.Config,
  tell: (hints: ReadonlyArray<Change.Hint>) => Effect.Effect<void>
): Effect.fn.Return<void, SqlError, Scope.Scope> {
  const hearAll = ({ notifications }: Ear) =>
    Effect.forever(Effect.flatMap(Queue.take(notifications), ({ payload }) => tell(hear(host, payload))))
  const beat = ({ session }: Ear) =>
    Effect.sleep(beat_ms).pipe(Effect.andThen(Effect.timeout(session.query("select"), answer_ms)), Effect.forever)
  const untilLost = (ear: Ear) => Effect.ignore(Effect.raceFirst(hearAll(ear), beat(ear)))

  const again = Effect.timeout(open(connection), answer_ms).pipe(
    Effect.flatMap((ear) => Effect.andThen(tell([{ about: "everything" }]), untilLost(ear))),
    Effect.scoped,
    Effect.ignore,
    Effect.andThen(Effect.sleep(reconnect_ms))
  )
  const first = yield* Scope.make()
  const ear = yield* Scope.provide(open(connection), first).pipe(
    Effect.onExit((exit) => (exit._tag === "Failure" ? Scope.close(first, exit) : Effect.void))
  )
  const follow = Effect.onExit(untilLost(ear), (exit) => Scope.close(first, exit)).pipe(
    Effect.ignoreCause({ log: "Error" })
  )
  yield* Effect.forkScoped(
    inRealTime(Effect.andThen(follow, Supervise.forever("Hearing other hosts", again, reconnect_ms)))
  )
})
