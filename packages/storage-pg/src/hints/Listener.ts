import { PgConnection } from "@effect/sql-pg"
import { type Change, Supervise } from "@quotewire/core"
import { Effect, type Exit, Queue, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { inRealTime } from "../connection/inRealTime.ts"
import { parseAnnouncement } from "./Announcer.ts"

const reconnect_ms = 1_000
/**
 * How often the connection is checked. TCP finds a dead peer within half a minute, so this is for what only seems to be alive,
 * such as a proxy. With many cells, checks are most of what idle databases do.
 */
const check_every_ms = 30_000
/** The longest time for connecting, and for the answer to a check. */
const answer_ms = 5_000

/** A connection that listens. */
interface ListeningConnection {
  readonly session: PgConnection.PgConnection
  readonly notifications: Queue.Dequeue<PgConnection.Notification, SqlError>
}

const open = Effect.fnUntraced(function* (
  connection: PgConnection.Config,
  channel: string
): Effect.fn.Return<ListeningConnection, SqlError, Scope.Scope> {
  const connected = yield* Scope.make()
  const listening = yield* Scope.make()
  // The connection is closed first, because a dead one cannot be asked to stop listening.
  yield* Effect.addFinalizer((exit: Exit.Exit<unknown, unknown>) =>
    Effect.andThen(Scope.close(connected, exit), Scope.close(listening, exit))
  )
  const base = yield* Scope.provide(PgConnection.make(connection), connected)
  const session = yield* Scope.provide(base.pin, listening)
  return { session, notifications: yield* Scope.provide(session.listen(channel), listening) }
})

/**
 * Passes on the hints of other hosts until the scope closes. It is listening when this returns.
 *
 * A lost connection is opened again. Hints sent meanwhile are lost, so `notify` is then called with `everything`.
 */
export const listen = Effect.fnUntraced(function* (
  host: string,
  connection: PgConnection.Config,
  channel: string,
  notify: (hints: ReadonlyArray<Change.Hint>) => Effect.Effect<void>
): Effect.fn.Return<void, SqlError, Scope.Scope> {
  const forwardAll = ({ notifications }: ListeningConnection) =>
    Effect.forever(Effect.flatMap(Queue.take(notifications), ({ payload }) => notify(parseAnnouncement(host, payload))))
  const check = ({ session }: ListeningConnection) =>
    Effect.sleep(check_every_ms).pipe(
      Effect.andThen(Effect.timeout(session.query("select"), answer_ms)),
      Effect.forever
    )
  const untilLost = (connection: ListeningConnection) =>
    Effect.ignore(Effect.raceFirst(forwardAll(connection), check(connection)))

  const again = Effect.timeout(open(connection, channel), answer_ms).pipe(
    Effect.flatMap((opened) => Effect.andThen(notify([{ about: "everything" }]), untilLost(opened))),
    Effect.scoped,
    Effect.ignore,
    Effect.andThen(Effect.sleep(reconnect_ms))
  )
  // In a scope of its own: a lost connection is closed before the outer scope, a live one with it.
  const first = yield* Scope.fork(yield* Effect.scope)
  const opened = yield* Scope.provide(open(connection, channel), first)
  const follow = Effect.onExit(untilLost(opened), (exit) => Scope.close(first, exit)).pipe(
    Effect.ignoreCause({ log: "Error" })
  )
  yield* Effect.forkScoped(
    inRealTime(Effect.andThen(follow, Supervise.repeatForever("Listening to other hosts", again, reconnect_ms)))
  )
})
