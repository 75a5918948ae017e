import { signal } from "@preact/signals"
import { type Client, connect } from "../../src/client/index.ts"
import { hostUrl } from "./host.ts"
import { place, to } from "./route.ts"

/*
 * Partner links. A link's path names the resource, and its fragment holds the token, because browsers never send the
 * fragment.
 */

/** Whether this is a page for partners, who have no key. */
export const isShared = (): boolean => place.value.path[0] === "link"

/** The client of a partner link; null if the address is not a partner link or lacks the token. */
export const sharedClient = signal<Client | null>(null)

/** A partner link's full address. */
export const addressOf = (sharedId: string, token: string): string =>
  `${location.origin}${to(["link", sharedId])}#${token}`

/**
 * Takes the token from the address or, if the address has none, the token that this tab stored for the same resource.
 */
export const beginShared = (): void => {
  const { path } = place.value
  if (!isShared()) return
  const stored = `quotewire-console-link ${path[1]}`
  const [, sent] = /^#(link_[\w-]+)$/.exec(location.hash) ?? []
  if (sent !== undefined) {
    // Removes the token from the address first, so that nobody copies it from there.
    history.replaceState(null, "", location.pathname)
    sessionStorage.setItem(stored, sent)
  }
  const token = sent ?? sessionStorage.getItem(stored)
  sharedClient.value = token === null ? null : clientOf(token)
}

/** Creates a client with a token; null if the token contains characters that cannot be sent. */
const clientOf = (key: string): Client | null => {
  try {
    return connect({ base_url: hostUrl, key, max_retries: 2 })
  } catch {
    return null
  }
}
