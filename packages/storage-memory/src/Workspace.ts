import { Change, kinds, Page, type Storage } from "@quotewire/core"
import { type Compare, compareText, indexFrom, insert, remove } from "./ordered.ts"

/** The records and events of one workspace. */
export class Workspace {
  readonly feed: Feed
  /** The records by the name of their kind. */
  readonly tables = new Map<string, Table>()

  constructor(feed = new Feed()) {
    this.feed = feed
  }

  get isEmpty(): boolean {
    return this.feed.events.length === 0 && [...this.tables.values()].every(({ records }) => records.size === 0)
  }

  /** The records of a kind, for reading only; an empty table if no such record exists. */
  table(kind: string): Table {
    return this.tables.get(kind) ?? new Table()
  }

  write(record: Change.StoredRecord): void {
    const table = this.table(record.kind)
    this.tables.set(record.kind, table)
    table.write(record)
  }

  /** Erases the oldest records of a kind, and their children if the kind requires it. */
  eraseRecords(kind: string, createdBefore: number, limit: number): Storage.Erased["records"] {
    const ids = this.table(kind).eraseOlder(createdBefore, limit)
    const erased = new Map([[kind, ids.length]])
    const withChildren = kinds.byName(kind).erases_children ? this.tables : []
    for (const [child, table] of withChildren) {
      const children = ids.reduce((count, id) => count + table.eraseChildren(id), 0)
      erased.set(child, (erased.get(child) ?? 0) + children)
    }
    return counts(erased)
  }

  /** Erases the records of a kind that belong to a parent, or only the older versions of these records. */
  eraseChildren(kind: string, parent: string, versions: "all" | "older"): Storage.Erased["records"] {
    const table = this.table(kind)
    const count = versions === "all" ? table.eraseChildren(parent) : table.eraseOlderVersions(parent)
    return counts(new Map([[kind, count]]))
  }

  /** Erases the records that a reset does not keep. */
  eraseForReset(): Storage.Erased["records"] {
    const gone = [...this.tables].filter(([kind]) => !kinds.byName(kind).survives_reset)
    for (const [kind] of gone) this.tables.delete(kind)
    return counts(new Map(gone.map(([kind, { records }]) => [kind, records.size])))
  }
}

const counts = (erased: ReadonlyMap<string, number>): Storage.Erased["records"] =>
  Object.fromEntries([...erased].filter(([, count]) => count > 0))

const none: ReadonlyArray<never> = []

/** The records of one kind in one workspace. */
class Table {
  /** The newest version of each record, by ID. */
  readonly records = new Map<string, Change.StoredRecord>()
  /** The older versions of records, if the kind keeps them and they have not been erased. */
  private readonly older = new Map<string, ReadonlyArray<Change.StoredRecord>>()
  /** All IDs, sorted. Null after an erasure, and until a list is first read, because most kinds are never listed. */
  private ids: Array<string> | null = null
  /** For each ID, the sorted IDs of the records that belong to it or are about it. */
  private readonly linked = new Map<string, Array<string>>()

  /** The number of a record's newest version; 0 if the record does not exist. */
  version(id: string): number {
    return this.records.get(id)?.version ?? 0
  }

  get(id: string, version?: number): Change.StoredRecord | undefined {
    const newest = this.records.get(id)
    if (newest === undefined || version === undefined || version === newest.version) return newest
    return this.olderThanNewest(id).find((candidate) => candidate.version === version)
  }

  /** A record's older versions, oldest first. */
  olderThanNewest(id: string): ReadonlyArray<Change.StoredRecord> {
    return this.older.get(id) ?? none
  }

  /** Stores a version of a record. The caller must have checked that this version follows the stored one. */
  write(record: Change.StoredRecord): void {
    const { id, kind } = record
    const newest = record.version === 1 ? undefined : this.records.get(id)
    this.records.set(id, record)
    if (newest === undefined) {
      if (this.ids !== null) insert(this.ids, id, compareText)
      this.link(record)
      return
    }
    if (kinds.byName(kind).keeps_history) this.older.set(id, [...this.olderThanNewest(id), newest])
    if (newest.parent === record.parent && areSame(newest.about, record.about)) return
    this.unlink(newest)
    this.link(record)
  }

  /** Replaces the body of a version if the body has not changed since it was read. */
  rewrite({ before, body, id, version }: Omit<Storage.Rewrite, "kind">): boolean {
    const record = this.get(id, version)
    if (record === undefined || record.body !== before) return false
    // `Change.record` copies field by field. Spreading would lose the fields that a record computes.
    const rewritten = { ...Change.record(record), body }
    if (record === this.records.get(id)) this.records.set(id, rewritten)
    else {
      const older = this.olderThanNewest(id).map((olderVersion) => (olderVersion === record ? rewritten : olderVersion))
      this.older.set(id, older)
    }
    return true
  }

  page(query: Page.RecordQuery): Page.RecordPage {
    const { after, limit, order } = query
    const ids = this.idsFor(query)
    const step = order === "oldest" ? 1 : -1
    const records: Array<Change.StoredRecord> = []
    let at = startOf(ids, query)
    let last = after
    for (let scanned = 0; scanned < Page.pageScanRecords; scanned++) {
      const id = ids[at]
      const record = id === undefined ? undefined : this.get(id)
      if (record === undefined) return { records, next: null }
      if (matches(record, query)) {
        if (records.length === limit) return { records, next: records.at(-1)?.id ?? after }
        records.push(record)
      }
      last = record.id
      at += step
    }
    return { records, next: ids[at] === undefined ? null : last }
  }

  /** Erases the oldest records that were created before a time, and returns their IDs. */
  eraseOlder(createdBefore: number, limit: number): ReadonlyArray<string> {
    const old: Array<Change.StoredRecord> = []
    for (const record of this.records.values()) if (record.created_at < createdBefore) old.push(record)
    old.sort((a, b) => a.created_at - b.created_at || compareText(a.id, b.id))
    const ids = old.slice(0, limit).map(({ id }) => id)
    for (const id of ids) this.erase(id)
    return ids
  }

  /** Erases a parent's records, and returns how many there were. */
  eraseChildren(parent: string): number {
    const ids = this.childrenOf(parent)
    for (const id of ids) this.erase(id)
    return ids.length
  }

  /** Erases the older versions of a parent's records, and returns how many there were. */
  eraseOlderVersions(parent: string): number {
    let erased = 0
    for (const id of this.childrenOf(parent)) {
      erased += this.olderThanNewest(id).length
      this.older.delete(id)
    }
    return erased
  }

  private childrenOf(parent: string): ReadonlyArray<string> {
    return (this.linked.get(parent) ?? none).filter((id) => this.get(id)?.parent === parent)
  }

  /** The shortest list that contains the ID of every record that can match the query. */
  private idsFor({ about: [about] = [], parent }: Page.RecordQuery): ReadonlyArray<string> {
    const link = about ?? parent
    if (link !== undefined) return this.linked.get(link) ?? none
    this.ids ??= [...this.records.keys()].sort()
    return this.ids
  }

  private erase(id: string): void {
    const record = this.get(id)
    if (record === undefined) return
    this.records.delete(id)
    this.older.delete(id)
    this.ids = null
    this.unlink(record)
  }

  private link(record: Change.StoredRecord): void {
    for (const link of linksOf(record)) {
      const ids = this.linked.get(link)
      if (ids === undefined) this.linked.set(link, [record.id])
      else insert(ids, record.id, compareText)
    }
  }

  private unlink(record: Change.StoredRecord): void {
    for (const link of linksOf(record)) {
      const ids = this.linked.get(link) ?? []
      remove(ids, record.id, compareText)
      if (ids.length === 0) this.linked.delete(link)
    }
  }
}

/** The index of a page's first ID. */
const startOf = (ids: ReadonlyArray<string>, { after, order }: Page.RecordQuery): number => {
  if (after === null) return order === "oldest" ? 0 : ids.length - 1
  const at = indexFrom(ids, after, compareText)
  if (order === "newest") return at - 1
  return ids[at] === after ? at + 1 : at
}

/** The IDs that a record belongs to or is about. */
const linksOf = ({ about, parent }: Change.StoredRecord): ReadonlyArray<string> =>
  parent === null || about.includes(parent) ? about : [parent, ...about]

const areSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((id, index) => id === b[index])

const matches = (record: Change.StoredRecord, query: Page.RecordQuery): boolean =>
  (query.parent === undefined || record.parent === query.parent) &&
  (query.about === undefined || query.about.every((id) => record.about.includes(id))) &&
  (query.status === undefined || record.status === query.status) &&
  (query.line === undefined || record.line === query.line) &&
  (query.labels === undefined || query.labels.every((label) => record.labels.includes(label))) &&
  (query.created_after === undefined || record.created_at >= query.created_after) &&
  (query.created_before === undefined || record.created_at < query.created_before) &&
  (query.updated_since === undefined || record.updated_at >= query.updated_since)

const byNumber: Compare<{ readonly number: number }> = (a, b) => a.number - b.number

/** The events of one workspace. */
export class Feed {
  /** The events that have not been erased, in the order of their numbers. */
  readonly events: Array<Change.StoredEvent> = []
  /** The number of the newest event that was erased; 0 if no event was erased. */
  erased_through: number
  /** The events about each ID, in the order of their numbers. */
  private readonly byAbout = new Map<string, Array<Change.StoredEvent>>()

  constructor(erasedThrough = 0) {
    this.erased_through = erasedThrough
  }

  /** Appends an event with the next number (rule 3, feed order). */
  append({ about, body, id, occurred_at }: Change.NewEvent): void {
    const event = { number: this.last + 1, id, occurred_at, about, body }
    this.events.push(event)
    for (const subjectId of about) {
      const events = this.byAbout.get(subjectId)
      if (events === undefined) this.byAbout.set(subjectId, [event])
      else events.push(event)
    }
  }

  read({ about = [], after, limit }: Page.FeedQuery): Page.FeedPage {
    const [first] = about
    const all = first === undefined ? this.events : (this.byAbout.get(first) ?? none)
    const events: Array<Change.StoredEvent> = []
    for (let at = indexFrom(all, { number: after + 1 }, byNumber); at < all.length && events.length < limit; at++) {
      const event = all[at]
      if (event !== undefined && about.every((id) => event.about.includes(id))) events.push(event)
    }
    const reached = (events.length === limit ? events.at(-1)?.number : undefined) ?? this.last
    return { events, reached: Math.max(after, reached), erased_through: this.erased_through }
  }

  /**
   * Erases up to `limit` events from the beginning. Stops at the first event that did not occur before a time. Returns
   * how many were erased.
   */
  eraseBefore(occurredBefore: number, limit: number): number {
    const firstKept = this.events.slice(0, limit).findIndex(({ occurred_at }) => occurred_at >= occurredBefore)
    return this.eraseFirst(firstKept < 0 ? limit : firstKept)
  }

  /** Erases every event and returns how many there were. Later events continue the numbers. */
  eraseAll(): number {
    return this.eraseFirst(this.events.length)
  }

  /** The number of the newest event, even if it was erased. */
  private get last(): number {
    return this.erased_through + this.events.length
  }

  private eraseFirst(count: number): number {
    const erased = this.events.splice(0, count)
    this.erased_through += erased.length
    for (const id of new Set(erased.flatMap(({ about }) => about))) {
      const events = this.byAbout.get(id) ?? []
      events.splice(0, indexFrom(events, { number: this.erased_through + 1 }, byNumber))
      if (events.length === 0) this.byAbout.delete(id)
    }
    return erased.length
  }
}
