import type { WorkspaceId } from "../wire/Ids.ts"
import type { StoredEvent, StoredRecord } from "./Change.ts"

/** Asks for one page of the newest versions of one kind of record. Times are milliseconds of workspace time. */
export interface RecordQuery {
  readonly workspace_id: WorkspaceId
  readonly kind: string
  readonly order: "newest" | "oldest"
  /** The id of the last record of the page before; identifiers are in the order of creation. */
  readonly after: string | null
  readonly limit: number
  readonly parent?: string
  readonly status?: string
  readonly line?: string
  /** Records that have all of these. */
  readonly labels?: ReadonlyArray<string>
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
  /** Where the next page starts; null where the list has ended. A page can be short, or empty, and yet name a next one. */
  readonly next: string | null
}

/** Asks for events of a workspace's feed, oldest first. */
export interface FeedQuery {
  readonly workspace_id: WorkspaceId
  /** Events with greater numbers. */
  readonly after: number
  readonly limit: number
}

/** One page of the feed. */
export interface FeedPage {
  readonly events: ReadonlyArray<StoredEvent>
  /** Every number up to this one has been erased; 0 while none has. */
  readonly erased_through: number
}

/** How many records a page looks at before it is cut short, whatever its filters. */
export const page_scan_records = 10_000
