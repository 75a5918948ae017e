import { signal } from "@preact/signals"
import { connect, type RemoteClient } from "../../src/client/index.ts"
import { hostUrl } from "./host.ts"
import { place, to } from "./route.ts"

/*
 * A partner link: its path names the resource, and its fragment holds the token, which browsers never send.
 */

/** Whether this is a page for partners, who have no key. */
export const isShared = (): boolean => place.value.path[0] === "link"

/** The client of a partner link; null if the address is not a partner link or lacks the token. */
export const sharedClient = signal<RemoteClient | null>(null)

/** The whole address of a link. */
export const addressOf = (sharedId: string, token: string): string =>
  `${location.origin}${to(["link", sharedId])}#${token}`

/** Takes the token from the address, or the one that this tab stored for the same resource. */
export const beginShared = (): void => {
  const { path } = place.value
  if (!isShared()) return
  const stored = `quotewire-console-link ${path[1]}`
  const [, sent] = /^#(link_[\w-]+)$/.exec(location.hash) ?? []
  if (sent !== undefined) {
    // Removes the token from the address before anything else happens, so that nobody copies it from there.
    history.replaceState(null, "", location.pathname)
    sessionStorage.setItem(stored, sent)
  }
  const token = sent ?? sessionStorage.getItem(stored)
  sharedClient.value = token === null ? null : clientOf(token)
}

/** A client with a token; null if the token was altered so that it cannot be sent. */
const clientOf = (key: string): RemoteClient | null => {
  try {
    return connect({ base_url: hostUrl, key, max_retries: 2 })
  } catch {
    return null
  }
}
