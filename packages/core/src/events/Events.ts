import { Context, Effect, Layer } from "effect"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/sealing/Seal.ts"
import type { Call } from "../calls/Call.ts"
import type { FeedPage } from "../storage/Page.ts"
import { endOfFeed, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { aboutOf } from "../wire/AboutIds.ts"
import * as ApiError from "../wire/ApiError.ts"
import * as Json from "../wire/Json.ts"
import { defaultLimit } from "../wire/Pagination.ts"
import type { EventPage, FeedInput } from "./EventPage.ts"

/** Reads the event feed, for callers that poll (api.md, Event feed). */
export class Events extends Context.Service<
  Events,
  {
    /**
     * Reads events in feed order, starting at a cursor, at the oldest event that is still stored, or with the newest
     * events.
     *
     * Refuses with `invalid_cursor` if this feed did not issue the cursor, or issued it with other filters. Refuses
     * with `event_cursor_expired` if a reset has made the cursor invalid, or if events after the cursor were erased.
     */
    readonly list: (
      call: Call,
      input: FeedInput
    ) => Effect.Effect<
      Json.Json<EventPage>,
      ApiError.ApiError<"invalid_cursor" | "event_cursor_expired"> | StorageUnavailable
    >
  }
>()("@quotewire/core/Events") {
  static readonly layer: Layer.Layer<Events, never, Storage | Seal> = Layer.effect(
    Events,
    Effect.gen(function* () {
      const storage = yield* Storage
      const seal = yield* Seal
      const list = Effect.fnUntraced(function* (call: Call, input: FeedInput) {
        const { from: begin = "oldest", limit = defaultLimit, cursor, ...filters } = input
        const { workspace } = call.moment
        const scope = { list: "events", workspace_id: workspace.id, filters }
        const from = cursor === undefined ? null : positionOf(yield* Cursor.read(seal, scope, cursor))
        if (from !== null && from.reset_count !== workspace.reset_count) {
          return yield* ApiError.make("event_cursor_expired")
        }
        // A reset in progress erases all events up to now. A reader that received some of these events now would never
        // learn that they were erased.
        const isErased = workspace.erased_count < workspace.reset_count
        const end = from === null && begin === "newest" && !isErased ? yield* endOfFeed(storage, workspace.id) : 0
        const after = from?.number ?? Math.max(0, end - limit)
        const page = isErased
          ? erasedAfter(after)
          : yield* storage.feed({ workspace_id: workspace.id, after, limit, about: aboutOf(filters) })
        if (from !== null && from.number < page.erased_through) return yield* ApiError.make("event_cursor_expired")
        const nextCursor = yield* Cursor.write(seal, scope, `${workspace.reset_count} ${page.reached}`)
        return Json.object<EventPage>({
          events: Json.array(page.events.map((event) => Json.fromText(event.body))),
          next_cursor: Json.encode(nextCursor)
        })
      })
      return Events.of({ list })
    })
  )
}

/** The empty page that a sandbox's feed returns while a reset is in progress. */
const erasedAfter = (cursor: number): FeedPage => ({ events: [], reached: cursor, erased_through: 0 })

/** Reads the position in a cursor: the reset count, and the sequence number of the last event on the page. */
const positionOf = (position: string) => {
  const [reset_count = 0, number = 0] = position.split(" ").map(Number)
  return { reset_count, number }
}
