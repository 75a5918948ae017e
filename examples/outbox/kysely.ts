import { type Generated, type GeneratedAlways, Kysely, PostgresDialect, type Transaction } from "kysely"
import { Pool } from "pg"
import type { HandledEvent, Recipe } from "./consume.ts"

interface Tables {
  readonly handled_events: { readonly event_id: string; readonly handled_at: Generated<Date> }
  readonly outbox: { readonly id: GeneratedAlways<string>; readonly topic: string; readonly quote_id: string }
}

/** Handles an event and records its ID, in one transaction. Resolves to false if the event was handled before. */
export const handleOnce = (
  db: Kysely<Tables>,
  event: HandledEvent,
  handle: (tx: Transaction<Tables>) => Promise<unknown>
): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const marked = await tx
      .insertInto("handled_events")
      .values({ event_id: event.id })
      .onConflict((conflict) => conflict.doNothing())
      .returning("event_id")
      .executeTakeFirst()
    if (marked === undefined) return false
    await handle(tx)
    return true
  })

/** Connects to a database. For each event, a message is added to the outbox. */
export const connect = (url: string): Recipe => {
  const pool = new Pool({ connectionString: url })
  // Without a listener, losing an idle connection would end the program.
  pool.on("error", (error) => console.error(error.message))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    handle: (event) =>
      handleOnce(db, event, (tx) =>
        tx.insertInto("outbox").values({ topic: event.type, quote_id: event.resource.id }).execute()
      ),
    close: () => db.destroy()
  }
}
