import { signal } from "@preact/signals"
import { basePath } from "./host.ts"

/*
 * Routing: each page has its own address below `/console`, such as `/console/requests/qreq_…`, which users can share
 * and bookmark.
 */

/** A page of the console: its path and its query. */
export interface Place {
  /** The parts of the path, such as `["requests", "qreq_…"]`. */
  readonly path: ReadonlyArray<string>
  readonly query: URLSearchParams
}

const root = `${basePath}/console`

const read = ({ pathname, search }: Location | URL): Place => ({
  path: pathname.slice(root.length).split("/").filter(Boolean).map(decoded),
  query: new URLSearchParams(search)
})

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The page that the console currently shows. */
export const place = signal<Place>(read(location))

/** A page's address, for links. */
export const to = (path: ReadonlyArray<string>, query: Readonly<Record<string, string>> = {}): string => {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString()
  return `${[root, ...path.map(encodeURIComponent)].join("/")}${search === "" ? "" : `?${search}`}`
}

/** Opens a page. */
export const go = (path: ReadonlyArray<string>, query: Readonly<Record<string, string>> = {}): void =>
  show(new URL(to(path, query), location.origin))

const show = (url: URL): void => {
  history.pushState(null, "", url)
  place.value = read(url)
}

/** Opens the console's own links without reloading the page. */
export const followLinks = (): void => {
  addEventListener("popstate", () => {
    place.value = read(location)
  })
  document.addEventListener("click", (event) => {
    const { altKey, button, ctrlKey, metaKey, shiftKey, target } = event
    const link = target instanceof Element ? target.closest("a") : null
    if (link === null || button !== 0 || altKey || ctrlKey || metaKey || shiftKey) return
    const url = new URL(link.href)
    if (url.origin !== location.origin || !`${url.pathname}/`.startsWith(`${root}/`)) return
    event.preventDefault()
    show(url)
  })
}
