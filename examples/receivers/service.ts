import type { Current, Inbox, Resource, WebhookEvent } from "./inbox.ts"

/** The reads of the service, over HTTP. */
export const serviceAt = (base_url: string, key: string) => {
  const get = (path: string) =>
    fetch(base_url + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(10_000)
    })

  return {
    read: async ({ type, id }: Resource): Promise<Current> => {
      // Without waiting: what changes later is told by an event of its own.
      const response = await get(type === "quote" ? `/v1/quotes/${id}` : `/v1/quote-requests/${id}?wait_seconds=0`)
      if (!response.ok) throw new Error(`${type} ${id} cannot be read: ${response.status}`)
      const body = await response.json()
      return type === "quote" ? body : body.quote_request
    },

    /** A page of the feed; null where the cursor is too old. */
    feed: async (cursor: string | null): Promise<Page | null> => {
      const query = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const response = await get(`/v1/events?limit=100${query}`)
      if (response.status === 410) return null
      if (!response.ok) throw new Error(`The feed cannot be read: ${response.status}`)
      return response.json()
    }
  }
}

/** A page of the feed. */
export interface Page {
  readonly events: ReadonlyArray<WebhookEvent>
  readonly next_cursor: string
}

/** Where the feed is read from, and where its cursor is kept. */
export interface Feed {
  readonly feed: (cursor: string | null) => Promise<Page | null>
  readonly cursor: { readonly load: () => string | null; readonly save: (cursor: string) => void }
}

/** Makes up for what was missed: after an outage, at every start, and once an hour to be sure. */
export const catchUp = async (inbox: Inbox, { feed, cursor }: Feed): Promise<void> => {
  let page = await feed(cursor.load())
  if (page === null) {
    // The feed does not reach back so far: look at everything that is held, and then read from the oldest event.
    await inbox.readAll()
    page = await feed(null)
  }
  while (page !== null && page.events.length > 0) {
    for (const event of page.events) await inbox.take(event)
    // Only now: a cursor that runs ahead of the work would skip what failed.
    cursor.save(page.next_cursor)
    page = await feed(page.next_cursor)
  }
}
