import { type Change, type Ids, kinds, type Page, type Storage } from "@quotewire/core"
import { Table } from "./Table.ts"

/** The records and events of one workspace: a table for each kind of record, and the feed. */
export class Workspace {
  readonly id: Ids.WorkspaceId
  readonly feed: Feed
  private readonly tables = new Map<string, Table>()

  constructor(id: Ids.WorkspaceId, feed = new Feed()) {
    this.id = id
    this.feed = feed
  }

  copy(): Workspace {
    const copy = new Workspace(this.id, this.feed.copy())
    for (const [kind, table] of this.tables) copy.tables.set(kind, table.copy())
    return copy
  }

  get isEmpty(): boolean {
    return this.feed.size === 0 && [...this.tables.values()].every(({ size }) => size === 0)
  }

  /** The records of a kind, for reading: an empty table if there are none. */
  table(kind: string): Table {
    return this.tables.get(kind) ?? new Table()
  }

  write(record: Change.StoredRecord): void {
    const table = this.table(record.kind)
    this.tables.set(record.kind, table)
    table.write(record)
  }

  /** Erases the oldest records of a kind, with their children if the kind says so. */
  eraseRecords(kind: string, createdBefore: number, limit: number): Storage.Erased["records"] {
    const ids = this.table(kind).eraseOlder(createdBefore, limit)
    const erased = new Map([[kind, ids.length]])
    const withChildren = kinds.byName(kind).erases_children ? [...this.tables] : []
    for (const [child, table] of withChildren) {
      const children = ids.reduce((count, id) => count + table.eraseChildren(id), 0)
      erased.set(child, (erased.get(child) ?? 0) + children)
    }
    return counts(erased)
  }

  /** Erases the records of a kind that belong to a parent, or only their older versions. */
  eraseChildren(kind: string, parent: string, versions: "all" | "older"): Storage.Erased["records"] {
    const table = this.table(kind)
    const count = versions === "all" ? table.eraseChildren(parent) : table.eraseOlderVersions(parent)
    return counts(new Map([[kind, count]]))
  }

  /** Erases the records that do not survive a reset. */
  eraseForReset(): Storage.Erased["records"] {
    const erased = new Map<string, number>()
    for (const [kind, table] of this.tables) {
      if (kinds.byName(kind).survives_reset) continue
      erased.set(kind, table.size)
      this.tables.delete(kind)
    }
    return counts(erased)
  }
}

const counts = (erased: ReadonlyMap<string, number>): Storage.Erased["records"] =>
  Object.fromEntries([...erased].filter(([, count]) => count > 0))

/** The events of one workspace, numbered from 1. */
class Feed {
  /** Without the erased ones: the first has the number `erased_through + 1`. */
  private readonly events: Array<Change.NewEvent>
  private erased_through: number

  constructor(events: Array<Change.NewEvent> = [], erasedThrough = 0) {
    this.events = events
    this.erased_through = erasedThrough
  }

  get size(): number {
    return this.events.length
  }

  copy(): Feed {
    return new Feed([...this.events], this.erased_through)
  }

  append(event: Change.NewEvent): void {
    this.events.push(event)
  }

  read(after: number, limit: number): Page.FeedPage {
    const start = Math.max(after - this.erased_through, 0)
    const firstNumber = this.erased_through + start + 1
    const events = this.events
      .slice(start, start + limit)
      .map(({ id, occurred_at, body }, index) => ({ number: firstNumber + index, id, occurred_at, body }))
    return { events, erased_through: this.erased_through }
  }

  /** Erases from the front, up to the first event that did not occur before a time. Returns how many. */
  eraseBefore(occurredBefore: number, limit: number): number {
    const kept = this.events.slice(0, limit).findIndex(({ occurred_at }) => occurred_at >= occurredBefore)
    return this.eraseFirst(kept < 0 ? limit : kept)
  }

  /** Erases every event and returns how many. Later events continue the numbers. */
  eraseAll(): number {
    return this.eraseFirst(this.size)
  }

  private eraseFirst(count: number): number {
    const erased = this.events.splice(0, count).length
    this.erased_through += erased
    return erased
  }
}
