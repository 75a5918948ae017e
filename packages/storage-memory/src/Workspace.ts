import { type Change, type Ids, kinds, type Page, type Storage } from "@quotewire/core"
import { Feed } from "./Feed.ts"
import { Table } from "./Table.ts"

/** The records and events of one workspace. */
export class Workspace {
  readonly id: Ids.WorkspaceId
  readonly feed = new Feed()
  private readonly tables = new Map<string, Table>()

  constructor(id: Ids.WorkspaceId) {
    this.id = id
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
