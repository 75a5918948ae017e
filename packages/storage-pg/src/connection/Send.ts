import type { PgConnection } from "@effect/sql-pg"
import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { unavailable } from "./StatementRefused.ts"

export type Rows = ReadonlyArray<PgConnection.Row>

/**
 * Runs a statement and returns its rows. Fails with `StorageUnavailable` if the statement takes longer than a time
 * limit.
 */
export type SendStatement = (
  sql: string,
  params: ReadonlyArray<unknown>
) => Effect.Effect<Rows, SqlError | Storage.StorageUnavailable>

/**
 * Converts the end of a statement into its rows. If the statement was cancelled, the storage was closed and is
 * unavailable.
 */
export const answerOf = (exit: Exit.Exit<PgConnection.Result, SqlError>) =>
  Exit.isSuccess(exit)
    ? Effect.succeed(exit.value.rows)
    : Cause.hasInterruptsOnly(exit.cause)
      ? Effect.fail(unavailable)
      : Effect.failCause(exit.cause)
