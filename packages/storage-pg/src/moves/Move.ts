import { Effect, Schedule, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import * as Session from "../connection/Session.ts"
import { lockEnd } from "./lock.ts"
import { type End, refusalAt, refused } from "./MoveRefused.ts"

/** The latest step of a move. */
export type Progress =
  /**
   * Tables are being copied. `total_bytes` is their size on the old server's disk. It includes more dead rows than the
   * copies do.
   */
  | {
      readonly step: "copying"
      readonly copied_bytes: number
      readonly total_bytes: number
      readonly tables_left: number
    }
  /** The new server stopped and lost the copy of a table, so everything is copied again. */
  | { readonly step: "copying_again" }
  /**
   * All tables are copied, and later changes are being replicated. `lag_bytes` is the part of the old server's log that
   * the new server has not received.
   */
  | { readonly step: "following"; readonly lag_bytes: number }
  /** The cell is held: hosts can neither read nor write it. */
  | { readonly step: "held" }
  /**
   * The hold was released, because other sessions locked the tables or the new server was too slow. The hold will be
   * retried.
   */
  | { readonly step: "released"; readonly held_ms: number }
  /** The cutover is done: the cell is in its new database. */
  | { readonly step: "switched"; readonly held_ms: number }
  /** The new database does not respond during an undo, so its schema and subscription must be dropped manually. */
  | { readonly step: "unreachable" }
  /** Another step of the move was completed. */
  | { readonly step: "begun" | "arriving" | "published" | "subscribed" | "settled" | "unsubscribed" | "cleared" }

/** A move of a cell, from one database to another. */
export interface Move {
  readonly from: DatabaseOptions
  readonly to: DatabaseOptions
  /** Called after each step. */
  readonly onProgress: (progress: Progress) => Effect.Effect<void>
}

/** One end of a move, with an open connection that a command uses. */
export interface ConnectedEnd {
  readonly schema: string | undefined
  readonly session: Session.Session
  /** Runs a step. Turns a failure into one sentence. */
  readonly step: <A>(
    step: (session: Session.Session) => Effect.Effect<A, SqlError>
  ) => Effect.Effect<A, DatabaseRefused>
}

const running = refused("Another command is moving this cell: wait for that command, or stop it.")

/** Connects to one end and locks it. Statements on the connection have no time limit, and commits are durable. */
export const connect = (
  end: End,
  options: DatabaseOptions
): Effect.Effect<ConnectedEnd, DatabaseRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const session = yield* Session.open(options)
    for (const setting of ["statement_timeout = 0", "synchronous_commit = on"]) {
      yield* session.run(`set ${setting}`, [], false)
    }
    // Retries, because the server takes a moment to notice that an earlier command has ended.
    yield* Effect.flatMap(lockEnd(session, end, options.schema), (isLocked) =>
      isLocked ? Effect.void : Effect.fail(running)
    ).pipe(Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 10, while: (error) => error === running }))
    const connected: ConnectedEnd = {
      schema: options.schema,
      session,
      step: (step) => Effect.catchTag(step(session), "SqlError", (error) => Effect.fail(refusalAt(end, options, error)))
    }
    return connected
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(refusalAt(end, options, error))))
