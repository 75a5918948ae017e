import type { WorkspaceId } from "../wire/Ids.ts"
import type { StoredEvent, StoredRecord } from "./Change.ts"

/** A query for one page of the newest versions of one kind of record. Times are milliseconds of workspace time. */
export interface RecordQuery {
  readonly workspace_id: WorkspaceId
  readonly kind: string
  readonly order: "newest" | "oldest"
  /** The id of the last record of the previous page. Ids sort by creation. */
  readonly after: string | null
  readonly limit: number
  readonly parent?: string
  readonly status?: string
  readonly line?: string
  /** Only records that have all of these. */
  readonly labels?: ReadonlyArray<string>
  /**
   * Only records that are about all of these. The page scans only records that are about the first, so put the most
   * specific first.
   */
  readonly about?: ReadonlyArray<string>
  /** At or after. */
  readonly created_after?: number
  /** Before. */
  readonly created_before?: number
  /** At or after. */
  readonly updated_since?: number
}

/** One page of a list. */
export interface RecordPage {
  readonly records: ReadonlyArray<StoredRecord>
  /**
   * Where the next page starts; null at the end of the list. A page can be short, or empty, and still have a next page.
   */
  readonly next: string | null
}

/** A query for events of a workspace's feed, oldest first. */
export interface FeedQuery {
  readonly workspace_id: WorkspaceId
  /** Only events with greater numbers. */
  readonly after: number
  /** 0 reads no events, only how far the feed goes. */
  readonly limit: number
  /**
   * Only events that are about all of these. The page scans only events that are about the first, so put the most
   * specific first.
   */
  readonly about?: ReadonlyArray<string>
}

/** One page of the feed. */
export interface FeedPage {
  readonly events: ReadonlyArray<StoredEvent>
  /**
   * The number up to which the page has looked, at least `after`: that of its last event if it is full, otherwise the
   * number of the newest event of the feed. Every later page can start after it.
   */
  readonly reached: number
  /** Every event up to this number was erased; 0 if none was. */
  readonly erased_through: number
}

/** How many records a page may scan before it ends early, whatever its filters. */
export const pageScanRecords = 10_000
