import * as BasePath from "./BasePath.ts"

/** The target of a request, below the path that the host is mounted at. */
export interface Target {
  readonly path: string
  /** The text after the `?`, still encoded. */
  readonly query: string
  /** The path that the host is mounted at, as callers see it; an empty text at the root. */
  readonly mount_path: string
}

/**
 * Finds the target of a request; null if it is not below `base_path`.
 *
 * `stripped` is the part that a framework such as Express has already removed from the beginning of the URL.
 */
export type Locate = (url: string, stripped: string) => Target | null

/** Locates targets below a base path, which `BasePath.read` has parsed. */
export const locate = (basePath: string): Locate => {
  const below = BasePath.below(basePath)
  return (url, stripped) => {
    const target = withoutOrigin(url)
    const mark = target.indexOf("?")
    const whole = mark < 0 ? target : target.slice(0, mark)
    const query = mark < 0 ? "" : target.slice(mark + 1)
    const path = below(whole)
    if (path !== null) return { path, query, mount_path: stripped + basePath }
    if (stripped === "") return null
    // The framework has removed the base path too. With a pattern such as `/insurance/*path`, Express removes
    // everything.
    const sent = basePath === "" ? null : below(whole === "/" ? stripped : stripped + whole)
    return sent === null ? { path: whole, query, mount_path: stripped } : { path: sent, query, mount_path: basePath }
  }
}

/** Proxies may send a full URL. Only its path and query count. */
const withoutOrigin = (url: string): string => {
  if (url.startsWith("/")) return url
  const rest = url.replace(/^https?:\/\/[^/?]*/i, "")
  return rest.startsWith("?") || rest === "" ? `/${rest}` : rest
}

/** The target of a request that is not below the base path. No route matches it. */
export const elsewhere: Target = { path: "", query: "", mount_path: "" }
