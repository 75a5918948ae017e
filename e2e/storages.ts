import { layer } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { scopedDatabase } from "../test/support/TestDatabase.ts"
import { http } from "./host.ts"

const postgres = Layer.unwrap(Effect.map(scopedDatabase, ({ options }) => PgStorage.layer(options)))

const onMemory = layer(http(MemoryStorage.layer), { excludeTestServices: true })
const onPostgres = layer(http(postgres), { excludeTestServices: true, timeout: "60 seconds" })

/** Tells stories over HTTP once on each storage: they are the same on all. */
export const onEveryStorage = (name: string, stories: Parameters<typeof onMemory>[1]): void => {
  onMemory(`${name}, on memory`, stories)
  onPostgres(`${name}, on PostgreSQL`, stories)
}
