import type { Page, Storage } from "@quotewire/core"
import { Effect, Exit, type Scope } from "effect"
import * as Gatherer from "./Gatherer.ts"
import { unavailable } from "./StatementRefused.ts"

type Found = Effect.Effect<Page.RecordPage, Storage.StorageUnavailable>

/** Reads a page. */
export type Read = (query: Page.RecordQuery) => Found

/** So many groups of workspaces read beside each other. */
const queues = 16

const nameOf = ({ workspace_id, kind, parent, order, after, limit }: Page.RecordQuery): string =>
  [workspace_id, kind, parent, order, after, limit].join(" ")

/**
 * Reads pages that nothing filters but their parent, such as the subscriptions that every commit of an event looks up.
 * Who asks for a page while others of its workspace are being read waits for them, and shares the next read with everybody
 * who has asked for the same meanwhile. What is read is never older than the call.
 */
export const make = (read: Read): Effect.Effect<Read, never, Scope.Scope> => {
  const send = (queries: ReadonlyArray<Page.RecordQuery>): Effect.Effect<ReadonlyArray<Found>> => {
    const wanted = new Map(queries.map((query) => [nameOf(query), query]))
    return Effect.map(
      Effect.forEach([...wanted.values()], (query) => Effect.exit(read(query)), { concurrency: "unbounded" }),
      (pages) => {
        const found = new Map([...wanted.keys()].map((name, index) => [name, pages[index]]))
        return queries.map((query) => found.get(nameOf(query)) ?? Exit.fail(unavailable))
      }
    )
  }
  return Effect.map(
    Gatherer.make<Page.RecordQuery, Found>(queues, {
      queueOf: ({ workspace_id }) => Gatherer.queueOf(workspace_id),
      claimsOf: () => [],
      sizeOf: () => 0,
      send,
      refusal: Effect.fail(unavailable)
    }),
    (gather) => (query) => Effect.flatten(gather(query))
  )
}
