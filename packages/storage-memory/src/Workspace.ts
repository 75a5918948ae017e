import { Change, type Ids, kinds, Page, type Storage } from "@quotewire/core"
import { type Compare, compareText, indexFrom, SortedList } from "./SortedList.ts"

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
    let table = this.tables.get(record.kind)
    if (table === undefined) {
      table = new Table()
      this.tables.set(record.kind, table)
    }
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

/** One record. */
interface Entry {
  newest: Change.StoredRecord
  /** Older versions, if the kind keeps them and they have not been erased. */
  older: ReadonlyArray<Change.StoredRecord>
}

const none: ReadonlyArray<never> = []

/** The fields of the newest version that a list is sorted by. */
type Key<Field extends keyof Change.StoredRecord> = { readonly newest: Pick<Change.StoredRecord, Field> }

const byId: Compare<Key<"id">> = (first, second) => compareText(first.newest.id, second.newest.id)

const byAge: Compare<Key<"created_at" | "id">> = (first, second) =>
  first.newest.created_at - second.newest.created_at || byId(first, second)

/** The records of one kind in one workspace. */
class Table {
  private readonly entries = new Map<string, Entry>()
  /** Created when a list is first read in id order, because most kinds are never listed and many ids are random. */
  private ids: SortedList<Key<"id">, Entry> | null = null
  private readonly ages = new SortedList<Key<"created_at" | "id">, Entry>(byAge)
  /** The records of each parent. */
  private readonly children = new Map<string, SortedList<Key<"id">, Entry>>()
  /** The records about each id. */
  private readonly byAbout = new Map<string, SortedList<Key<"id">, Entry>>()

  get size(): number {
    return this.entries.size
  }

  copy(): Table {
    const copy = new Table()
    for (const { newest, older } of this.entries.values()) copy.add({ newest, older })
    return copy
  }

  /** The number of the newest version; 0 if there is no record. */
  version(id: string): number {
    return this.entries.get(id)?.newest.version ?? 0
  }

  get(id: string, version?: number): Change.StoredRecord | undefined {
    const entry = this.entries.get(id)
    if (entry === undefined || version === undefined || version === entry.newest.version) return entry?.newest
    return entry.older.find((older) => older.version === version)
  }

  /** Stores a version. The caller has checked that it follows the stored one. */
  write(record: Change.StoredRecord): void {
    const entry = this.entries.get(record.id)
    if (entry === undefined) {
      this.add({ newest: record, older: none })
      return
    }
    const { newest, older } = entry
    const moves =
      newest.created_at !== record.created_at || newest.parent !== record.parent || !areSame(newest.about, record.about)
    if (moves) this.remove(entry)
    if (kinds.byName(record.kind).keeps_history) entry.older = [...older, newest]
    entry.newest = record
    if (moves) this.add(entry)
  }

  /** Replaces the body of a version if it is still the one that was read. */
  rewrite({ before, body, id, version }: Omit<Storage.Rewrite, "kind">): boolean {
    const entry = this.entries.get(id)
    const record = this.get(id, version)
    if (entry === undefined || record === undefined || record.body !== before) return false
    // `Change.record` reads field by field, because a copy by spreading loses what a record computes.
    const rewritten = { ...Change.record(record), body }
    if (record === entry.newest) entry.newest = rewritten
    else entry.older = entry.older.map((older) => (older === record ? rewritten : older))
    return true
  }

  page(query: Page.RecordQuery): Page.RecordPage {
    const records: Array<Change.StoredRecord> = []
    let scanned = 0
    let last = query.after
    for (const { newest } of this.inOrder(query)) {
      if (scanned === Page.pageScanRecords) return { records, next: last }
      scanned += 1
      if (matches(newest, query)) {
        if (records.length === query.limit) return { records, next: records.at(-1)?.id ?? query.after }
        records.push(newest)
      }
      last = newest.id
    }
    return { records, next: null }
  }

  /** Erases the oldest records that were created before a time, and returns their ids. */
  eraseOlder(createdBefore: number, limit: number): ReadonlyArray<string> {
    const old: Array<Entry> = []
    for (const entry of this.ages.upwards()) {
      if (old.length >= limit || entry.newest.created_at >= createdBefore) break
      old.push(entry)
    }
    for (const entry of old) this.remove(entry)
    return old.map(({ newest }) => newest.id)
  }

  /** Erases the records of a parent, and returns how many there were. */
  eraseChildren(parent: string): number {
    const entries = [...listed(this.children, parent).upwards()]
    for (const entry of entries) this.remove(entry)
    return entries.length
  }

  /** Erases the older versions of the records of a parent, and returns how many there were. */
  eraseOlderVersions(parent: string): number {
    let erased = 0
    for (const entry of listed(this.children, parent).upwards()) {
      erased += entry.older.length
      entry.older = none
    }
    return erased
  }

  private inOrder({ about: [about] = [], after, order, parent }: Page.RecordQuery): Iterable<Entry> {
    const from = after === null ? null : { newest: { id: after } }
    const ids = this.listOf(about, parent)
    return order === "oldest" ? ids.upwards(from) : ids.downwards(from)
  }

  /** The shortest list that has all records about an id, or of a parent. */
  private listOf(about: string | undefined, parent: string | undefined): SortedList<Key<"id">, Entry> {
    if (about !== undefined) return listed(this.byAbout, about)
    return parent === undefined ? this.sortedIds() : listed(this.children, parent)
  }

  private sortedIds(): SortedList<Key<"id">, Entry> {
    if (this.ids !== null) return this.ids
    const ids = new SortedList<Key<"id">, Entry>(byId)
    for (const entry of this.entries.values()) ids.insert(entry)
    this.ids = ids
    return ids
  }

  private add(entry: Entry): void {
    this.entries.set(entry.newest.id, entry)
    this.ids?.insert(entry)
    this.ages.insert(entry)
    const { about, parent } = entry.newest
    if (parent !== null) insert(this.children, parent, entry)
    for (const id of about) insert(this.byAbout, id, entry)
  }

  private remove(entry: Entry): void {
    this.entries.delete(entry.newest.id)
    this.ids?.remove(entry)
    this.ages.remove(entry)
    const { about, parent } = entry.newest
    if (parent !== null) remove(this.children, parent, entry)
    for (const id of about) remove(this.byAbout, id, entry)
  }
}

/** Lists of records by an id. */
type Lists = Map<string, SortedList<Key<"id">, Entry>>

const listed = (lists: Lists, id: string): SortedList<Key<"id">, Entry> => lists.get(id) ?? new SortedList(byId)

const insert = (lists: Lists, id: string, entry: Entry): void => {
  let list = lists.get(id)
  if (list === undefined) {
    list = new SortedList(byId)
    lists.set(id, list)
  }
  list.insert(entry)
}

const remove = (lists: Lists, id: string, entry: Entry): void => {
  const list = listed(lists, id)
  list.remove(entry)
  if (list.first === undefined) lists.delete(id)
}

const areSame = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.length === others.length && some.every((id, index) => id === others[index])

const matches = (record: Change.StoredRecord, query: Page.RecordQuery): boolean =>
  (query.parent === undefined || record.parent === query.parent) &&
  (query.about === undefined || query.about.every((id) => record.about.includes(id))) &&
  (query.status === undefined || record.status === query.status) &&
  (query.line === undefined || record.line === query.line) &&
  (query.labels === undefined || query.labels.every((label) => record.labels.includes(label))) &&
  (query.created_after === undefined || record.created_at >= query.created_after) &&
  (query.created_before === undefined || record.created_at < query.created_before) &&
  (query.updated_since === undefined || record.updated_at >= query.updated_since)

const numbered = ({ id, occurred_at, about, body }: Change.NewEvent, number: number): Change.StoredEvent => ({
  number,
  id,
  occurred_at,
  about,
  body
})

const byNumber: Compare<number> = (first, second) => first - second

/** The events of one workspace, numbered from 1. */
class Feed {
  /** Without the erased ones: the first has the number `erased_through + 1`. */
  private readonly events: Array<Change.NewEvent>
  private erased_through: number
  /** The numbers of the events about each id, in order. */
  private readonly byAbout = new Map<string, Array<number>>()

  constructor(events: ReadonlyArray<Change.NewEvent> = [], erasedThrough = 0) {
    this.events = []
    this.erased_through = erasedThrough
    for (const event of events) this.append(event)
  }

  get size(): number {
    return this.events.length
  }

  copy(): Feed {
    return new Feed(this.events, this.erased_through)
  }

  append(event: Change.NewEvent): void {
    this.events.push(event)
    for (const id of event.about) {
      const numbers = this.byAbout.get(id)
      if (numbers === undefined) this.byAbout.set(id, [this.last])
      else numbers.push(this.last)
    }
  }

  read({ about = [], after, limit }: Page.FeedQuery): Page.FeedPage {
    const events = about.length === 0 ? this.eventsAfter(after, limit) : this.eventsAbout(about, after, limit)
    const reached = (events.length === limit ? events.at(-1)?.number : undefined) ?? this.last
    return { events, reached: Math.max(after, reached), erased_through: this.erased_through }
  }

  private eventsAfter(after: number, limit: number): ReadonlyArray<Change.StoredEvent> {
    const start = Math.max(after - this.erased_through, 0)
    const firstNumber = this.erased_through + start + 1
    return this.events.slice(start, start + limit).map((event, index) => numbered(event, firstNumber + index))
  }

  private eventsAbout(ids: ReadonlyArray<string>, after: number, limit: number): ReadonlyArray<Change.StoredEvent> {
    const numbers = this.byAbout.get(ids[0] ?? "") ?? []
    const found: Array<Change.StoredEvent> = []
    for (let at = indexFrom(numbers, after + 1, byNumber); at < numbers.length && found.length < limit; at++) {
      const number = numbers[at] ?? 0
      const event = this.events[number - this.erased_through - 1]
      if (event !== undefined && ids.every((id) => event.about.includes(id))) found.push(numbered(event, number))
    }
    return found
  }

  /** The number of the newest event, or of the newest erased one. */
  private get last(): number {
    return this.erased_through + this.events.length
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
    const erased = this.events.splice(0, count)
    this.erased_through += erased.length
    for (const id of new Set(erased.flatMap(({ about }) => about))) {
      const numbers = this.byAbout.get(id) ?? []
      numbers.splice(0, indexFrom(numbers, this.erased_through + 1, byNumber))
      if (numbers.length === 0) this.byAbout.delete(id)
    }
    return erased.length
  }
}
