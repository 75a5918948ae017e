import { Effect, Schedule, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import * as Session from "../connection/Session.ts"
import { lockEnd } from "./lock.ts"
import { type End, refusalAt, refused } from "./MoveRefused.ts"
import type { Progress } from "./Progress.ts"

/** A move of a cell: where it is, and where it goes. */
export interface Move {
  readonly from: DatabaseOptions
  readonly to: DatabaseOptions
  /** Called after each step. */
  readonly onProgress: (progress: Progress) => Effect.Effect<void>
}

/** One end of a move, while a command works on it. */
export interface Connected {
  readonly schema: string | undefined
  readonly session: Session.Session
  /** Runs a step. A failure is described in one sentence. */
  readonly step: <A>(
    step: (session: Session.Session) => Effect.Effect<A, SqlError>
  ) => Effect.Effect<A, DatabaseRefused>
}

const running = refused("Another command is moving this cell: wait for it, or stop it.")

/** Connects to one end, and locks it. Statements take as long as they need, and commits are durable. */
export const connect = (end: End, options: DatabaseOptions): Effect.Effect<Connected, DatabaseRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const session = yield* Session.open(options)
    for (const setting of ["statement_timeout = 0", "synchronous_commit = on"]) {
      yield* session.run(`set ${setting}`, [], false)
    }
    // The server takes a moment to notice that an earlier command has ended.
    yield* Effect.flatMap(lockEnd(session, end, options.schema), (isLocked) =>
      isLocked ? Effect.void : Effect.fail(running)
    ).pipe(Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 10, while: (error) => error === running }))
    const connected: Connected = {
      schema: options.schema,
      session,
      step: (step) => Effect.catchTag(step(session), "SqlError", (error) => Effect.fail(refusalAt(end, options, error)))
    }
    return connected
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(refusalAt(end, options, error))))
