import { type Change, Storage } from "@quotewire/core"
import { Exit, Schema } from "effect"
import * as Columns from "../rows/Columns.ts"
import { rowSchema, rowsReader } from "../rows/Columns.ts"
import * as DatabaseFunction from "../rows/DatabaseFunction.ts"
import { type ChangeRows, changeColumns, rowsOf } from "./changeRows.ts"

/** The result of storing one change. */
export type CommitResult = Exit.Exit<void, Storage.VersionConflict | Storage.LeaseLost | Storage.StorageUnavailable>

const commit = DatabaseFunction.make("commit_1", {}, changeColumns)

/** The statement that stores changes, each completely or not at all, and returns a row for each refused change. */
export const { statement } = commit

/** The parameters of `statement`. */
export const parameters = (changes: ReadonlyArray<Change.Change>) => commit.parameters({}, rowsOf(changes))

const refusalColumns = {
  change: Columns.int4(Schema.Int),
  /** Why the change is refused. */
  reason: Columns.text(Schema.Literals(["lease", "passed", "expectation", "write"])),
  /**
   * The position of the first refused row among the finishes, bounds (`none_due`), expected records or writes of all
   * changes.
   */
  place: Columns.int4(Schema.Int)
}
const refusals = rowsReader(rowSchema(refusalColumns))
type Refusal = Columns.Row<typeof refusalColumns>

const refusalOf = (rows: ChangeRows, { reason, place }: Refusal): CommitResult => {
  if (reason === "lease") {
    const { workspace, number, lease } = rowAt(rows.finishes, place)
    const { id: workspace_id } = rowAt(rows.workspaces, workspace)
    return Exit.fail(new Storage.LeaseLost({ lease: { workspace_id, number, lease } }))
  }
  if (reason === "passed") {
    const { id } = rowAt(rows.workspaces, rowAt(rows.none_due, place).workspace)
    return Exit.fail(new Storage.VersionConflict({ kind: "workspace", id }))
  }
  const { kind, id } =
    reason === "write" ? rowAt(rows.writes, place) : rowAt(rows.expected, rowAt(rows.expects, place).record)
  return Exit.fail(new Storage.VersionConflict({ kind, id }))
}

const rowAt = <A>(rows: ReadonlyArray<A>, place: number): A => {
  const row = rows[place - 1]
  if (row === undefined) throw new Error("PostgreSQL refuses a change for a row that was not sent")
  return row
}

/** Reads the result of each change. */
export const resultsOf = (
  changes: ReadonlyArray<Change.Change>,
  answer: ReadonlyArray<unknown>
): ReadonlyArray<CommitResult> => {
  const results = changes.map((): CommitResult => Exit.void)
  if (answer.length === 0) return results
  const rows = rowsOf(changes)
  for (const refusal of refusals(answer)) results[refusal.change - 1] = refusalOf(rows, refusal)
  return results
}
