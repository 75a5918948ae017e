import { type Change, Storage } from "@quotewire/core"
import { Effect, Schema, type Scope } from "effect"
import * as changes from "./changes.ts"
import type { Database } from "./Database.ts"
import * as Gatherer from "./Gatherer.ts"
import { unavailable } from "./StatementRefused.ts"

/** What becomes of a change. */
type Outcome = Effect.Effect<void, Storage.VersionConflict | Storage.LeaseLost | Storage.StorageUnavailable>

const RefusedRow = Schema.Struct({
  change: Schema.Int,
  write: Schema.NullOr(Schema.Int),
  finish: Schema.NullOr(Schema.Int),
  seen: Schema.NullOr(Schema.Int)
})
const decodeRefused = Schema.decodeUnknownSync(Schema.Array(RefusedRow))

/** Reads what refuses which change; writes, leases and what was seen are counted over all changes. */
const outcomesOf = (batch: ReadonlyArray<Change.Change>, rows: ReadonlyArray<unknown>): ReadonlyArray<Outcome> => {
  const outcomes = batch.map((): Outcome => Effect.void)
  if (rows.length === 0) return outcomes
  const writes = batch.flatMap((change) => change.writes)
  const leases = batch.flatMap((change) => change.finishes)
  const { seen } = changes.restsOf(batch)
  for (const { change, write, finish, seen: place } of decodeRefused(rows)) {
    const record = write !== null ? writes[write - 1] : place !== null ? seen[place - 1] : undefined
    const lost = finish === null ? undefined : leases[finish - 1]
    if (record !== undefined) {
      outcomes[change - 1] = Effect.fail(new Storage.VersionConflict({ kind: record.kind, id: record.id }))
    } else if (lost !== undefined) {
      const { workspace_id, number, lease } = lost
      outcomes[change - 1] = Effect.fail(new Storage.LeaseLost({ lease: { workspace_id, number, lease } }))
    }
  }
  return outcomes
}

// What a row takes besides its texts.
const row_bytes = 200

const sizeOf = ({ writes, events, jobs }: Change.Change): number =>
  writes.reduce((sum, { body }) => sum + body.length + row_bytes, 0) +
  events.reduce((sum, { body }) => sum + body.length + row_bytes, 0) +
  jobs.reduce((sum, { payload }) => sum + payload.length + row_bytes, 0)

/** Writes changes: one at a time while there is one at a time, and else many in one statement. */
export const make = Effect.fnUntraced(function* (
  database: Database,
  lanes: number
): Effect.fn.Return<(change: Change.Change) => Outcome, never, Scope.Scope> {
  const write = (batch: ReadonlyArray<Change.Change>) =>
    Effect.map(database.write(changes.statement, changes.parameters(batch)), (rows) => outcomesOf(batch, rows))

  const writeOne = (change: Change.Change): Effect.Effect<Outcome, Storage.StorageUnavailable> =>
    write([change]).pipe(
      Effect.map(([outcome]) => outcome ?? Effect.void),
      Effect.catchDefect((defect) => Effect.succeed(Effect.die(defect)))
    )

  /** Ends where storage is lost: else each of them would wait for it. */
  const writeOneByOne = (batch: ReadonlyArray<Change.Change>): Effect.Effect<ReadonlyArray<Outcome>> =>
    Effect.suspend(() => {
      let lost: Storage.StorageUnavailable | null = null
      return Effect.forEach(batch, (change) =>
        lost !== null
          ? Effect.succeed(Effect.fail(lost))
          : Effect.catchTag(writeOne(change), "StorageUnavailable", (error) => {
              lost = error
              return Effect.succeed(Effect.fail(error))
            })
      )
    })

  const send = (batch: ReadonlyArray<Change.Change>): Effect.Effect<ReadonlyArray<Outcome>> =>
    write(batch).pipe(
      Effect.catchTag("StorageUnavailable", (error) => Effect.succeed(batch.map(() => Effect.fail(error)))),
      // Nothing of the batch is stored. Who has caused it is found one by one; its neighbours are not to blame.
      Effect.catchDefect(() => writeOneByOne(batch))
    )

  const gather = yield* Gatherer.make<Change.Change, Outcome>(lanes, {
    queueOf: ({ workspace_id }) => Gatherer.queueOf(workspace_id),
    claimsOf: changes.claimsOf,
    needsOf: changes.needsOf,
    max_wait_ms: database.call_ms,
    sizeOf,
    send,
    refusal: Effect.fail(unavailable)
  })
  return (change) => Effect.flatten(gather(change))
})
