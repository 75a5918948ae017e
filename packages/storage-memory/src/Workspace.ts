import { type Change, type Ids, kinds, Page, type Storage } from "@quotewire/core"
import { ById, type FromMark, SortedList } from "./Ordered.ts"

/*
 * All that is stored of one workspace: a table for each kind of record, and its feed.
 */

/** The records and events of one workspace. */
export class Workspace {
  readonly id: Ids.WorkspaceId
  readonly feed = new Feed()
  private readonly tables = new Map<string, Table>()

  constructor(id: Ids.WorkspaceId) {
    this.id = id
  }

  copy(): Workspace {
    const copy = new Workspace(this.id)
    for (const [kind, table] of this.tables) copy.tables.set(kind, table.copy())
    this.feed.copyTo(copy.feed)
    return copy
  }

  get holdsAnything(): boolean {
    if (this.feed.size > 0) return true
    for (const table of this.tables.values()) if (table.size > 0) return true
    return false
  }

  version(kind: string, id: string): number {
    return this.tables.get(kind)?.version(id) ?? 0
  }

  get({ kind, id, version }: Storage.RecordKey): Change.StoredRecord | undefined {
    return this.tables.get(kind)?.get(id, version)
  }

  page(query: Page.RecordQuery): Page.RecordPage {
    return this.tables.get(query.kind)?.page(query) ?? { records: [], next: null }
  }

  write(record: Change.StoredRecord): void {
    const table = this.tables.get(record.kind) ?? new Table()
    this.tables.set(record.kind, table)
    table.write(record)
  }

  /** Erases the oldest records of a kind, with their children if the kind says so. */
  eraseRecords(kind: string, created_before: number, limit: number): Storage.Erased["records"] {
    const ids = this.tables.get(kind)?.eraseOlder(created_before, limit) ?? []
    const erased = new Map([[kind, ids.length]])
    if (kinds.byName(kind).erases_children) {
      for (const id of ids) {
        for (const [kindOfChild, table] of this.tables) {
          erased.set(kindOfChild, (erased.get(kindOfChild) ?? 0) + table.eraseChildren(id).length)
        }
      }
    }
    return counts(erased)
  }

  /** Erases the records of a kind that belong to a parent, or only their older versions. */
  eraseChildren(kind: string, parent: string, versions: "all" | "older"): Storage.Erased["records"] {
    const table = this.tables.get(kind)
    if (table === undefined) return {}
    const count = versions === "all" ? table.eraseChildren(parent).length : table.eraseOlderVersions(parent)
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

/** One record: its newest version, and older ones without gaps if the kind keeps them and nobody has erased them. */
interface Entry {
  newest: Change.StoredRecord
  older: Array<Change.StoredRecord> | null
}

// Equality first: most compared parents are the same string, which is recognized without comparing characters.
const byText = (first: string, second: string): number => (first === second ? 0 : first < second ? -1 : 1)

const byId = (first: Entry, second: Entry): number => byText(first.newest.id, second.newest.id)

const byCreation = (first: Entry, second: Entry): number =>
  first.newest.created_at - second.newest.created_at || byId(first, second)

const byParent = (first: Entry, second: Entry): number =>
  byText(first.newest.parent ?? "", second.newest.parent ?? "") || byId(first, second)

/** The records of one kind in one workspace, by id, by parent and by age. */
class Table {
  private readonly entries = new ById<Entry>()
  /** The records in the order of ids; null until they are first read in that order, because most kinds never are. */
  private ids: SortedList<Entry> | null = null
  private readonly ages = new SortedList<Entry>(byCreation)
  private readonly children = new SortedList<Entry>(byParent)

  get size(): number {
    return this.entries.size
  }

  /** The number of the newest version; 0 if there is no record. */
  version(id: string): number {
    return this.entries.get(id)?.newest.version ?? 0
  }

  get(id: string, version?: number): Change.StoredRecord | undefined {
    const entry = this.entries.get(id)
    if (entry === undefined || version === undefined || version === entry.newest.version) return entry?.newest
    return entry.older?.[version - (entry.older[0]?.version ?? 0)]
  }

  copy(): Table {
    const copy = new Table()
    for (const { newest, older } of this.entries.values()) {
      const entry: Entry = { newest, older: older === null ? null : [...older] }
      copy.entries.add(newest.id, entry)
      copy.index(entry)
    }
    return copy
  }

  /** Stores a version. The caller has checked that it follows the stored one. */
  write(record: Change.StoredRecord): void {
    const entry = this.entries.get(record.id)
    if (entry === undefined) {
      const first: Entry = { newest: record, older: null }
      this.entries.add(record.id, first)
      this.index(first)
      return
    }
    const before = entry.newest
    const moves = before.created_at !== record.created_at || before.parent !== record.parent
    if (moves) this.unindex(entry)
    if (kinds.byName(record.kind).keeps_history) {
      if (entry.older === null) entry.older = [before]
      else entry.older.push(before)
    }
    entry.newest = record
    if (moves) this.index(entry)
  }

  page(query: Page.RecordQuery): Page.RecordPage {
    const records: Array<Change.StoredRecord> = []
    let next: string | null = null
    let looked = 0
    let last = query.after
    this.walk(query, ({ newest }) => {
      if (looked === Page.page_scan_records) {
        next = last
        return false
      }
      looked += 1
      if (matches(newest, query)) {
        if (records.length === query.limit) {
          next = records.at(-1)?.id ?? query.after
          return false
        }
        records.push(newest)
      }
      last = newest.id
      return true
    })
    return { records, next }
  }

  /** Erases the oldest records that were created before a time, and returns their ids. */
  eraseOlder(created_before: number, limit: number): ReadonlyArray<string> {
    const old: Array<Entry> = []
    this.ages.upwards(everything, (entry) => {
      if (old.length >= limit || entry.newest.created_at >= created_before) return false
      old.push(entry)
      return true
    })
    return this.erase(old)
  }

  /** Erases the records of a parent, and returns their ids. */
  eraseChildren(parent: string): ReadonlyArray<string> {
    return this.erase(this.childrenOf(parent))
  }

  /** Erases the older versions of the records of a parent, and returns how many there were. */
  eraseOlderVersions(parent: string): number {
    let erased = 0
    for (const entry of this.childrenOf(parent)) {
      erased += entry.older?.length ?? 0
      entry.older = null
    }
    return erased
  }

  private childrenOf(parent: string): ReadonlyArray<Entry> {
    const found: Array<Entry> = []
    this.children.upwards(child(parent, null, "oldest"), (entry) => {
      if (entry.newest.parent !== parent) return false
      found.push(entry)
      return true
    })
    return found
  }

  private walk(query: Page.RecordQuery, visit: (entry: Entry) => boolean): void {
    const { after, order, parent } = query
    if (parent === undefined) {
      const mark: FromMark<Entry> =
        after === null
          ? order === "oldest"
            ? everything
            : everythingBelow
          : (entry: Entry) => byText(entry.newest.id, after)
      const ids = this.inOrder()
      if (order === "oldest") ids.upwards(mark, visit)
      else ids.downwards(mark, visit)
      return
    }
    const within = (entry: Entry) => entry.newest.parent === parent && visit(entry)
    if (order === "oldest") this.children.upwards(child(parent, after, order), within)
    else this.children.downwards(child(parent, after, order), within)
  }

  private inOrder(): SortedList<Entry> {
    if (this.ids !== null) return this.ids
    const ids = new SortedList<Entry>(byId)
    for (const entry of this.entries.values()) ids.insert(entry)
    this.ids = ids
    return ids
  }

  private index(entry: Entry): void {
    this.ids?.insert(entry)
    this.ages.insert(entry)
    if (entry.newest.parent !== null) this.children.insert(entry)
  }

  private unindex(entry: Entry): void {
    this.ids?.remove(entry)
    this.ages.remove(entry)
    if (entry.newest.parent !== null) this.children.remove(entry)
  }

  private erase(entries: ReadonlyArray<Entry>): ReadonlyArray<string> {
    for (const entry of entries) {
      this.unindex(entry)
      this.entries.delete(entry.newest.id)
    }
    return entries.map((entry) => entry.newest.id)
  }
}

const everything: FromMark<Entry> = () => 1
const everythingBelow: FromMark<Entry> = () => -1

/** Marks a place among the children of a parent: the child with this id, or without an id the place where a walk starts. */
const child =
  (parent: string, id: string | null, order: "newest" | "oldest"): FromMark<Entry> =>
  ({ newest }) =>
    byText(newest.parent ?? "", parent) || (id === null ? (order === "oldest" ? 1 : -1) : byText(newest.id, id))

const matches = (record: Change.StoredRecord, query: Page.RecordQuery): boolean =>
  (query.status === undefined || record.status === query.status) &&
  (query.line === undefined || record.line === query.line) &&
  (query.labels === undefined || query.labels.every((label) => record.labels.includes(label))) &&
  (query.created_after === undefined || record.created_at >= query.created_after) &&
  (query.created_before === undefined || record.created_at < query.created_before) &&
  (query.updated_since === undefined || record.updated_at >= query.updated_since)

const chunk_events = 256

/**
 * The events of one workspace, numbered from 1.
 *
 * An event's number is its index, so reading costs the same everywhere, and erasing drops chunks from the front.
 */
export class Feed {
  // Every chunk but the last is full. Erased events of the first chunk are set to undefined, to free their memory.
  private readonly chunks: Array<Array<Change.NewEvent | undefined>> = []
  /** The number before the first place of the first chunk. */
  private base = 0
  private erased_through = 0
  private last = 0

  get size(): number {
    return this.last - this.erased_through
  }

  copyTo(copy: Feed): void {
    for (const chunk of this.chunks) copy.chunks.push([...chunk])
    copy.base = this.base
    copy.erased_through = this.erased_through
    copy.last = this.last
  }

  append(event: Change.NewEvent): void {
    this.last += 1
    const tail = this.chunks.at(-1)
    if (tail === undefined || tail.length === chunk_events) this.chunks.push([event])
    else tail.push(event)
  }

  read(after: number, limit: number): Page.FeedPage {
    const start = Math.max(after, this.erased_through)
    const end = Math.min(start + limit, this.last)
    const events: Array<Change.StoredEvent> = []
    for (let number = start + 1; number <= end; number++) {
      const event = this.at(number)
      if (event !== undefined) {
        events.push({ number, id: event.id, occurred_at: event.occurred_at, body: event.body })
      }
    }
    return { events, erased_through: this.erased_through }
  }

  /** Erases from the front, up to the first event that did not occur before a time. Returns how many. */
  eraseBefore(occurred_before: number, limit: number): number {
    const start = this.erased_through
    const end = Math.min(start + limit, this.last)
    while (this.erased_through < end) {
      const event = this.at(this.erased_through + 1)
      if (event === undefined || event.occurred_at >= occurred_before) break
      this.eraseFirst()
    }
    return this.erased_through - start
  }

  /** Erases every event and returns how many. Later events continue the numbers. */
  eraseAll(): number {
    const erased = this.size
    this.chunks.length = 0
    this.base = this.last
    this.erased_through = this.last
    return erased
  }

  private at(number: number): Change.NewEvent | undefined {
    const place = number - this.base - 1
    return this.chunks[Math.floor(place / chunk_events)]?.[place % chunk_events]
  }

  private eraseFirst(): void {
    const first = this.chunks[0]
    if (first !== undefined) first[this.erased_through - this.base] = undefined
    this.erased_through += 1
    if (this.erased_through - this.base < chunk_events) return
    this.chunks.shift()
    this.base += chunk_events
  }
}
