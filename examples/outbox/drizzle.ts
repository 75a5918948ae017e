import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres"
import { bigint, pgTable, text, timestamp } from "drizzle-orm/pg-core"
import { Pool } from "pg"
import type { HandledEvent, Recipe } from "./consume.ts"

const handledEvents = pgTable("handled_events", {
  event_id: text().primaryKey(),
  handled_at: timestamp({ withTimezone: true }).notNull().defaultNow()
})

const outbox = pgTable("outbox", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  topic: text().notNull(),
  quote_id: text().notNull()
})

type Transaction = Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0]

/** Handles an event and records its ID, in one transaction. Resolves to false if the event was handled before. */
export const handleOnce = (
  db: NodePgDatabase,
  event: HandledEvent,
  handle: (tx: Transaction) => Promise<unknown>
): Promise<boolean> =>
  db.transaction(async (tx) => {
    const marked = await tx.insert(handledEvents).values({ event_id: event.id }).onConflictDoNothing().returning()
    if (marked.length === 0) return false
    await handle(tx)
    return true
  })

/** Connects to a database. For each event, a message is added to the outbox. */
export const connect = (url: string): Recipe => {
  const pool = new Pool({ connectionString: url })
  // Without a listener, losing an idle connection would end the program.
  pool.on("error", (error) => console.error(error.message))
  const db = drizzle(pool)
  return {
    handle: (event) =>
      handleOnce(db, event, (tx) => tx.insert(outbox).values({ topic: event.type, quote_id: event.resource.id })),
    close: () => pool.end()
  }
}
