import { signal } from "@preact/signals"
import { basePath } from "./host.ts"

/*
 * Each page has its own address below `/console`, such as `/console/requests/qreq_…`, which users can share and
 * bookmark.
 */

/** A place in the console. */
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

/** The place that the console shows now. */
export const place = signal<Place>(read(location))

/** The address of a page, for links. */
export const to = (path: ReadonlyArray<string>, query: Readonly<Record<string, string>> = {}): string => {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString()
  return `${[root, ...path.map(encodeURIComponent)].join("/")}${search === "" ? "" : `?${search}`}`
}

/** Goes to a page. */
export const go = (path: ReadonlyArray<string>, query: Readonly<Record<string, string>> = {}): void =>
  show(new URL(to(path, query), location.origin))

const show = (url: URL): void => {
  history.pushState(null, "", url)
  place.value = read(url)
}

/** Follows links to pages of the console without reloading it. */
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
