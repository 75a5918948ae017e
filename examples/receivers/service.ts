import type { Current, Inbox, Resource, WebhookEvent } from "./inbox.ts"

/** Reads resources and the feed over HTTP. */
export const serviceAt = (base_url: string, key: string) => {
  const get = (path: string) =>
    fetch(base_url + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(10_000)
    })

  return {
    read: async ({ type, id }: Resource): Promise<Current> => {
      // Does not wait for a change, because every change has an event of its own.
      const response = await get(type === "quote" ? `/v1/quotes/${id}` : `/v1/quote-requests/${id}?wait_seconds=0`)
      if (!response.ok) throw new Error(`${type} ${id} cannot be read: ${response.status}`)
      const body = await response.json()
      return type === "quote" ? body : body.quote_request
    },

    /** Returns a page of the feed, or null if the cursor has expired. */
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

/** How to read the feed, and where to store its cursor. */
export interface Feed {
  readonly feed: (cursor: string | null) => Promise<Page | null>
  readonly cursor: { readonly load: () => string | null; readonly save: (cursor: string) => void }
}

/** Processes missed events. Run it at every start, after an outage, and once an hour. */
export const catchUp = async (inbox: Inbox, { feed, cursor }: Feed): Promise<void> => {
  let page = await feed(cursor.load())
  if (page === null) {
    // The cursor has expired, so read every known resource again, then the feed from its oldest event.
    await inbox.readAll()
    page = await feed(null)
  }
  while (page !== null && page.events.length > 0) {
    for (const event of page.events) await inbox.take(event)
    // Save the cursor last. Saving it before the work is done would skip failed events.
    cursor.save(page.next_cursor)
    page = await feed(page.next_cursor)
  }
}
