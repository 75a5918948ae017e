import { Change, Event, embed, Ids, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import * as Child from "../Child.ts"
import { storage } from "../pg/Databases.ts"

/** Asks for so many events to be stored, and then to be consumed. */
export interface Consuming {
  /** Of the database; null for a storage in memory. */
  readonly url: string | null
  readonly events: number
  readonly workspaces: number
}

/** What came of it. */
export interface Consumed {
  readonly per_second: number
}

/** Events that are stored together. */
const stored_at_once = 500

const eventOf = (place: number) =>
  Event.record({
    id: Ids.EventId.make(`evt_${String(place).padStart(26, "0")}`),
    type: "quote.created",
    at: Date.now(),
    environment: "sandbox",
    line: "renters",
    resource: { type: "quote", id: `qt_${String(place).padStart(26, "0")}`, version: 1 }
  })

Child.answer(async ({ url, events, workspaces }: Consuming): Promise<Consumed> => {
  const quotewire = embed({ storage: url === null ? MemoryStorage.layer : storage(url), work: false })
  const ids: Array<Ids.WorkspaceId> = []
  for (let place = 0; place < workspaces; place++) {
    ids.push((await quotewire.createOrganization("Acme")).workspaces.sandbox)
  }
  const changes = Array.from({ length: events / stored_at_once }, (_, index) =>
    Change.make(ids[index % workspaces] ?? Storage.directoryWorkspace, {
      events: Array.from({ length: stored_at_once }, (_, place) => eventOf(index * stored_at_once + place))
    })
  )
  await quotewire.run(
    Effect.flatMap(Storage.Storage, (port) => Effect.forEach(changes, port.commit, { concurrency: 8, discard: true }))
  )
  const all = Promise.withResolvers<void>()
  let consumed = 0
  const began = performance.now()
  quotewire.consume(
    "bench",
    async () => {
      if (++consumed === events) all.resolve()
    },
    { from: "oldest" }
  )
  await all.promise
  const per_second = events / ((performance.now() - began) / 1e3)
  await quotewire.close()
  return { per_second }
})
