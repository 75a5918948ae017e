import { PrismaPg } from "@prisma/adapter-pg"
import type { HandledEvent, Recipe } from "../consume.ts"
import { type Prisma, PrismaClient } from "./generated/client.ts"

/** Handles an event and marks it, in one transaction. Resolves to false if it was handled before. */
export const handleOnce = (
  db: PrismaClient,
  event: HandledEvent,
  handle: (tx: Prisma.TransactionClient) => Promise<unknown>
): Promise<boolean> =>
  db.$transaction(async (tx) => {
    // createMany, because it can skip a mark that is there: create would fail, and end the transaction.
    const { count } = await tx.handledEvent.createMany({ data: [{ eventId: event.id }], skipDuplicates: true })
    if (count === 0) return false
    await handle(tx)
    return true
  })

/** Handles events in the database at an address: puts a message into the outbox for each. */
export const connect = (url: string): Recipe => {
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
  return {
    handle: (event) =>
      handleOnce(db, event, (tx) => tx.outbox.create({ data: { topic: event.type, quoteId: event.resource.id } })),
    close: () => db.$disconnect()
  }
}
