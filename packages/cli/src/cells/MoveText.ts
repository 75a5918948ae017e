import type { PgCells } from "@quotewire/storage-pg/cells"

const units = ["bytes", "kB", "MB", "GB", "TB"] as const

/** Formats a number of bytes for people, such as `1.5 GB`. */
const sizeOf = (bytes: number): string => {
  let size = bytes
  let unit = 0
  while (size >= 1_000 && unit < units.length - 1) {
    size /= 1_000
    unit += 1
  }
  return `${size >= 10 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`
}

/** Formats a line about the progress of a move; null for a step that takes almost no time. */
export const lineOf = (progress: PgCells.MoveProgress): string | null => {
  switch (progress.step) {
    case "copying": {
      const { copied_bytes, tables_left, total_bytes } = progress
      const tables = tables_left === 1 ? "1 table is" : `${tables_left} tables are`
      return `Copying: ${sizeOf(copied_bytes)} of ${sizeOf(total_bytes)}; ${tables} not complete.`
    }
    case "copying_again":
      return "The new server stopped and lost its copy of a table: copying everything again."
    case "following":
      return `Following the changes: ${sizeOf(progress.lag_bytes)} behind.`
    case "released":
      return `The cell could not be paused for long enough to switch, and was resumed after ${progress.held_ms} ms; trying again.`
    case "switched":
      return `Switched. The cell was paused for ${progress.held_ms} ms.`
    case "unreachable":
      return "The new server does not respond. When it responds again, drop its subscription and schema by hand."
    default:
      return null
  }
}

/** The last line that the command prints about a move, by outcome. */
export const endings: { readonly [Outcome in PgCells.MoveOutcome]: string } = {
  moved: "Moved. In the cells file, set the cell's url to its new address, and remove moves_to.",
  undone: "Undone. The cell is still in its old database.",
  kept_at_new:
    "The cell is in its new database, without the last changes that the old server had committed but not sent. In the cells file, set the cell's url to the address of its new database, and never start the old server again.",
  kept_at_old: "The cell is back in its old database, as it was at the switch. Never start the new server again.",
  nothing: "Nothing was changed: no move is in progress."
}

const keeps = ({ kept_bytes }: PgCells.MoveSlot) => `The replication slot retains ${sizeOf(kept_bytes)} of WAL.`

const moveOf = (name: string, { is_running, phase, slot }: PgCells.MoveState): ReadonlyArray<string> => {
  if (phase === null) return []
  if (is_running)
    return [
      phase === "moving" ? "The cell is being moved." : "The cell was moved, and its old database is being cleared."
    ]
  const keptSlot = slot === null ? [] : [keeps(slot)]
  return phase === "moving"
    ? [`A move was stopped: run quotewire cells move ${name} again, or with --undo.`, ...keptSlot]
    : [`The cell was moved, but its old database is not cleared: run quotewire cells move ${name} again.`, ...keptSlot]
}

const slotOf = (slot: PgCells.MoveSlot): string =>
  `No move uses the replication slot ${slot.name} on the cell's server: drop the slot with pg_drop_replication_slot. ${keeps(slot)}`

/** Describes a cell's moves in sentences; empty if nothing needs to be done. */
export const sentencesOf = ({ move, name }: PgCells.CellReport): ReadonlyArray<string> =>
  move === null ? [] : [...moveOf(name, move), ...move.other_slots.map(slotOf)]

/**
 * Whether a stopped move needs an operator, because it is unfinished or its replication slot still makes a server
 * retain WAL.
 */
export const isStopped = ({ move }: PgCells.CellReport): boolean =>
  move !== null && ((move.phase !== null && !move.is_running) || move.other_slots.length > 0)
