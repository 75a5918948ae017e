import type { WorkspaceId } from "../wire/Ids.ts"
import type { StoredEvent, StoredRecord } from "./Change.ts"

/**
 * A query for one page of records of one kind, each in its newest version. Times are milliseconds of workspace time.
 */
export interface RecordQuery {
  readonly workspace_id: WorkspaceId
  readonly kind: string
  readonly order: "newest" | "oldest"
  /** The ID of the last record on the previous page. IDs sort by creation time. */
  readonly after: string | null
  readonly limit: number
  readonly parent?: string
  readonly status?: string
  readonly line?: string
  /** Returns only records that have all of these labels. */
  readonly labels?: ReadonlyArray<string>
  /**
   * Returns only records that are about all of these IDs. The page scans the records that are about the first ID, so
   * put the most specific ID first.
   */
  readonly about?: ReadonlyArray<string>
  /** Returns only records created at or after this time. */
  readonly created_after?: number
  /** Returns only records created before this time. */
  readonly created_before?: number
  /** Returns only records updated at or after this time. */
  readonly updated_since?: number
}

/** One page of a list. */
export interface RecordPage {
  readonly records: ReadonlyArray<StoredRecord>
  /**
   * Where the next page starts; null at the end of the list. A page can be short or even empty although another page
   * follows.
   */
  readonly next: string | null
}

/** A query for events in a workspace's feed, oldest first. */
export interface FeedQuery {
  readonly workspace_id: WorkspaceId
  /** Returns only events whose numbers are greater than this number. */
  readonly after: number
  /** The maximum number of events to return. With 0, the page only reports how far the feed goes. */
  readonly limit: number
  /**
   * Returns only events that are about all of these IDs. The page scans the events that are about the first ID, so put
   * the most specific ID first.
   */
  readonly about?: ReadonlyArray<string>
}

/** One page of the feed. */
export interface FeedPage {
  readonly events: ReadonlyArray<StoredEvent>
  /**
   * The number up to which the page has searched, at least `after`. This is the number of the page's last event if the
   * page is full, and the number of the feed's newest event otherwise. The next page can start after it.
   */
  readonly reached: number
  /** All events up to and including this number were erased; 0 if no event was erased. */
  readonly erased_through: number
}

/**
 * The maximum number of records that a page scans. A page that reaches this maximum ends early, regardless of its
 * filters.
 */
export const pageScanRecords = 10_000
