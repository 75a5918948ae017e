import { PrismaPg } from "@prisma/adapter-pg"
import type { HandledEvent, Recipe } from "../consume.ts"
import { type Prisma, PrismaClient } from "./generated/client.ts"

/** Handles an event and records its ID, in one transaction. Resolves to false if the event was handled before. */
export const handleOnce = (
  db: PrismaClient,
  event: HandledEvent,
  handle: (tx: Prisma.TransactionClient) => Promise<unknown>
): Promise<boolean> =>
  db.$transaction(async (tx) => {
    // `createMany` can skip an ID that exists. `create` would fail and abort the transaction.
    const { count } = await tx.handledEvent.createMany({ data: [{ eventId: event.id }], skipDuplicates: true })
    if (count === 0) return false
    await handle(tx)
    return true
  })

/** Connects to a database. For each event, a message is added to the outbox. */
export const connect = (url: string): Recipe => {
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
  return {
    handle: (event) =>
      handleOnce(db, event, (tx) => tx.outbox.create({ data: { topic: event.type, quoteId: event.resource.id } })),
    close: () => db.$disconnect()
  }
}
