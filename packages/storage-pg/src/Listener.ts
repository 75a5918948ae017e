import { PgConnection } from "@effect/sql-pg"
import type { Change } from "@quotewire/core"
import { Effect, Queue, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { channel, everything, hear } from "./Announcer.ts"
import { inRealTime } from "./Database.ts"

const reconnect_ms = 1_000

type Notifications = Queue.Dequeue<PgConnection.Notification, SqlError>

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
  const scope = yield* Effect.scope
  const open: Effect.Effect<Notifications, SqlError, Scope.Scope> = Effect.flatMap(
    PgConnection.make(connection),
    (session) => session.listen(channel)
  )
  const follow = (notifications: Notifications): Effect.Effect<never, SqlError> =>
    Effect.forever(Effect.flatMap(Queue.take(notifications), ({ payload }) => tell(hear(host, payload))))
  const again = Effect.scoped(
    Effect.flatMap(open, (notifications) => Effect.andThen(tell(everything), follow(notifications)))
  ).pipe(Effect.ignore, Effect.andThen(Effect.sleep(reconnect_ms)), Effect.forever)

  const first = yield* inRealTime(open)
  yield* Effect.forkIn(inRealTime(Effect.andThen(Effect.ignore(follow(first)), again)), scope)
})
