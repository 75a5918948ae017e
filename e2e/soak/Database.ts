import { Ids, kinds, Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { Client } from "pg"

/** The database of a watched host. */
export interface Database {
  /** How many rows each table has, and how many bytes with its indexes. */
  readonly sizes: () => Promise<Readonly<Record<string, { readonly rows: number; readonly bytes: number }>>>
  /** Erases data of any kind that is older than `kept_ms`, as the host does after days. */
  readonly erase: (kept_ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

const tables = ["record", "older_version", "event", "job", "lane", "tally"] as const

const count = (table: string) =>
  `select '${table}' as name, count(*)::int as rows, pg_total_relation_size('quotewire.${table}')::float8 as bytes from quotewire.${table}`

/** Erases the older data of a workspace, by its own clock or by real time. */
const eraseIn = (
  storage: Storage.Storage["Service"],
  keptMs: number,
  workspace_id: Ids.WorkspaceId,
  offsetMs: number
) =>
  Effect.gen(function* () {
    const realBefore = Date.now() - keptMs
    const before = realBefore + offsetMs
    yield* storage.erase({ what: "events", workspace_id, occurred_before: before, limit: 100_000 })
    for (const { kept_for, name: kind } of kinds.all) {
      if (kept_for === null) continue
      const created_before = kept_for.clock === "real" ? realBefore : before
      yield* storage.erase({ what: "records", workspace_id, kind, created_before, limit: 100_000 })
    }
  })

/** Connects to a database. */
export const connect = async (url: string): Promise<Database> => {
  const client = new Client(url)
  await client.connect()
  const scope = Effect.runSync(Scope.make())
  const services = await Effect.runPromise(
    Layer.buildWithScope(PgStorage.layer({ url: Redacted.make(url), read_connections: 1, write_connections: 1 }), scope)
  )
  const storage = Context.get(services, Storage.Storage)
  return {
    sizes: async () => {
      const { rows } = await client.query(tables.map(count).join(" union all "))
      return Object.fromEntries(rows.map(({ name, ...size }) => [name, size]))
    },
    erase: async (keptMs) => {
      const { rows } = await client.query(
        "select workspace_id, clock_offset_ms::float8 as offset_ms from quotewire.workspace"
      )
      for (const { workspace_id, offset_ms } of rows) {
        await Effect.runPromise(eraseIn(storage, keptMs, Ids.WorkspaceId.make(workspace_id), offset_ms))
      }
    },
    close: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await client.end()
    }
  }
}
