import type * as Source from "./Source.ts"
import type * as Target from "./Target.ts"

/** The first PostgreSQL version with the replication features that a move needs. */
const oldestVersion = 140_000
/**
 * How many replication slots and senders a move needs: one for the move itself, and two for tables that are copied
 * concurrently.
 */
const senders = 3

/** Facts about both ends, read before a move begins. */
export interface EndFacts {
  readonly old: Source.Facts
  readonly new: Target.Facts
}

/** Lists the unmet preconditions of a move, one sentence for each. The sentences say what to do. */
export const unmet = ({ new: to, old: from }: EndFacts): ReadonlyArray<string> =>
  [
    from.version < oldestVersion && "The old server is older than PostgreSQL 14: upgrade the server first.",
    to.version < oldestVersion && "The new server is older than PostgreSQL 14: use a newer server.",
    from.is_standby && "The old address points to a standby: use the primary's address.",
    to.is_standby && "The new address points to a standby: use the primary's address.",
    from.wal_level !== "logical" && "The old server needs wal_level = logical: set wal_level, and restart the server.",
    from.free_slots < senders &&
      `The old server needs ${senders} free replication slots and has ${from.free_slots}: raise max_replication_slots, or drop unused slots.`,
    from.free_senders < senders &&
      `The old server needs ${senders} free WAL senders and has ${from.free_senders}: raise max_wal_senders.`,
    to.workers < 2 && "The new server needs max_logical_replication_workers = 2 or more: raise this setting.",
    from.sequences > 0 && "The schema has sequences, which a move does not copy: drop the sequences.",
    from.has_aside &&
      "The old database has a schema with the cell's schema name and the suffix _left: rename or drop that schema.",
    to.has_schema &&
      "The new database already has a schema with the cell's schema name. Move the cell to a database without that schema; a cell cannot move back to a database that it left."
  ].filter((sentence) => sentence !== false)
