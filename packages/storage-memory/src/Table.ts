import { type Change, kinds, Page, type Storage } from "@quotewire/core"
import { type Compare, compareText, SortedList } from "./SortedList.ts"

/** One record. */
interface Entry {
  newest: Change.StoredRecord
  /** Older versions, if the kind keeps them and nobody has erased them. */
  older: ReadonlyArray<Change.StoredRecord>
}

const none: ReadonlyArray<never> = []

/** The fields of the newest version by which a list is sorted. */
type Key<Field extends keyof Change.StoredRecord> = { readonly newest: Pick<Change.StoredRecord, Field> }

const byId: Compare<Key<"id">> = (first, second) => compareText(first.newest.id, second.newest.id)

const byAge: Compare<Key<"created_at" | "id">> = (first, second) =>
  first.newest.created_at - second.newest.created_at || byId(first, second)

/** The records of one kind in one workspace. */
export class Table {
  private readonly entries = new Map<string, Entry>()
  /** Made when a list is first read in the order of ids, because most kinds are never listed and many ids are random. */
  private ids: SortedList<Key<"id">, Entry> | null = null
  private readonly ages = new SortedList<Key<"created_at" | "id">, Entry>(byAge)
  /** The records of each parent. */
  private readonly children = new Map<string, SortedList<Key<"id">, Entry>>()

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
    const moves = newest.created_at !== record.created_at || newest.parent !== record.parent
    if (moves) this.remove(entry)
    if (kinds.byName(record.kind).keeps_history) entry.older = [...older, newest]
    entry.newest = record
    if (moves) this.add(entry)
  }

  /** Replaces the body of a version, if it is still the one that was read. */
  rewrite({ before, body, id, version }: Omit<Storage.Rewrite, "kind">): boolean {
    const entry = this.entries.get(id)
    const record = this.get(id, version)
    if (entry === undefined || record === undefined || record.body !== before) return false
    const rewritten = withBody(record, body)
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
    const entries = [...this.childrenOf(parent).upwards()]
    for (const entry of entries) this.remove(entry)
    return entries.length
  }

  /** Erases the older versions of the records of a parent, and returns how many there were. */
  eraseOlderVersions(parent: string): number {
    let erased = 0
    for (const entry of this.childrenOf(parent).upwards()) {
      erased += entry.older.length
      entry.older = none
    }
    return erased
  }

  private inOrder({ after, order, parent }: Page.RecordQuery): Iterable<Entry> {
    const from = after === null ? null : { newest: { id: after } }
    const ids = parent === undefined ? this.sortedIds() : this.childrenOf(parent)
    return order === "oldest" ? ids.upwards(from) : ids.downwards(from)
  }

  private childrenOf(parent: string): SortedList<Key<"id">, Entry> {
    return this.children.get(parent) ?? new SortedList(byId)
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
    const { parent } = entry.newest
    if (parent === null) return
    const siblings = this.childrenOf(parent)
    siblings.insert(entry)
    this.children.set(parent, siblings)
  }

  private remove(entry: Entry): void {
    this.entries.delete(entry.newest.id)
    this.ids?.remove(entry)
    this.ages.remove(entry)
    const { parent } = entry.newest
    if (parent === null) return
    const siblings = this.childrenOf(parent)
    siblings.remove(entry)
    if (siblings.first === undefined) this.children.delete(parent)
  }
}

/** A copy of a record with another body. Its fields are read one by one, because they may be computed. */
const withBody = (record: Change.StoredRecord, body: string): Change.StoredRecord => ({
  kind: record.kind,
  id: record.id,
  version: record.version,
  body,
  parent: record.parent,
  status: record.status,
  line: record.line,
  labels: record.labels,
  created_at: record.created_at,
  updated_at: record.updated_at,
  expires_at: record.expires_at
})

const matches = (record: Change.StoredRecord, query: Page.RecordQuery): boolean =>
  (query.status === undefined || record.status === query.status) &&
  (query.line === undefined || record.line === query.line) &&
  (query.labels === undefined || query.labels.every((label) => record.labels.includes(label))) &&
  (query.created_after === undefined || record.created_at >= query.created_after) &&
  (query.created_before === undefined || record.created_at < query.created_before) &&
  (query.updated_since === undefined || record.updated_at >= query.updated_since)
