import { PgConnection } from "@effect/sql-pg"
import { type Change, Supervise } from "@quotewire/core"
import { Effect, type Exit, Queue, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { inRealTime } from "../connection/inRealTime.ts"
import { parseAnnouncement } from "./Announcer.ts"

const reconnectMs = 1_000
/**
 * How often to check the connection, in milliseconds. TCP detects a dead peer within half a minute, so this check is
 * for a peer that only seems alive, such as a proxy. With many cells, these checks are most of the load on idle
 * databases.
 */
const checkEveryMs = 30_000
/** How long connecting, or the answer to a check, may take, in milliseconds. */
const answerMs = 5_000

/** A listening connection. */
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
  // Closes the connection first, because a dead one cannot be asked to stop listening.
  yield* Effect.addFinalizer((exit: Exit.Exit<unknown, unknown>) =>
    Effect.andThen(Scope.close(connected, exit), Scope.close(listening, exit))
  )
  const base = yield* Scope.provide(PgConnection.make(connection), connected)
  const session = yield* Scope.provide(base.pin, listening)
  return { session, notifications: yield* Scope.provide(session.listen(channel), listening) }
})

/**
 * Passes on hints from other hosts until the scope closes. Already listens when it returns.
 *
 * Reconnects if the connection is lost. Hints sent in the meantime are lost, so it then calls `notify` with
 * `everything`.
 */
export const listen = Effect.fnUntraced(function* (
  host: string,
  config: PgConnection.Config,
  channel: string,
  notify: (hints: ReadonlyArray<Change.Hint>) => Effect.Effect<void>
): Effect.fn.Return<void, SqlError, Scope.Scope> {
  const forwardAll = ({ notifications }: ListeningConnection) =>
    Effect.forever(Effect.flatMap(Queue.take(notifications), ({ payload }) => notify(parseAnnouncement(host, payload))))
  const check = ({ session }: ListeningConnection) =>
    Effect.sleep(checkEveryMs).pipe(Effect.andThen(Effect.timeout(session.query("select"), answerMs)), Effect.forever)
  const untilLost = (connection: ListeningConnection) =>
    Effect.ignore(Effect.raceFirst(forwardAll(connection), check(connection)))

  const again = Effect.timeout(open(config, channel), answerMs).pipe(
    Effect.flatMap((reopened) => Effect.andThen(notify([{ about: "everything" }]), untilLost(reopened))),
    Effect.scoped,
    Effect.ignore,
    Effect.andThen(Effect.sleep(reconnectMs))
  )
  // In its own scope: a lost connection is closed before the outer scope closes, a live one together with it.
  const first = yield* Scope.fork(yield* Effect.scope)
  const opened = yield* Scope.provide(open(config, channel), first)
  const follow = Effect.onExit(untilLost(opened), (exit) => Scope.close(first, exit)).pipe(
    Effect.ignoreCause({ log: "Error" })
  )
  yield* Effect.forkScoped(
    inRealTime(Effect.andThen(follow, Supervise.repeatForever("Listening to other hosts", again, reconnectMs)))
  )
})
