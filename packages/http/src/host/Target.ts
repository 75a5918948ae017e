import { Result } from "effect"

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

/** Locates targets below a base path, which `readBasePath` has parsed. */
export const locate = (basePath: string): Locate => {
  const below = pathBelow(basePath)
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

/** The rule for a base path, phrased to complete a sentence that begins with the setting's name. */
export const basePathRule =
  "must be a path that begins with /, without query, fragment and empty segments, and with a percent sign written as %25"

/**
 * Parses a path such as `/api/insurance/`. The result is percent-encoded and has no trailing slash; it is empty for the
 * root.
 */
export const readBasePath = (text: string): Result.Result<string, typeof basePathRule> => {
  if (text === "") return Result.succeed("")
  if (!text.startsWith("/") || /[?#\\\s\p{C}]/u.test(text)) return Result.fail(basePathRule)
  const url = URL.parse(`http://host${text}`)
  const path = url?.pathname.replace(/\/+$/, "")
  return path === undefined || path.includes("//") || path.split("/").some((segment) => decode(segment) === null)
    ? Result.fail(basePathRule)
    : Result.succeed(path)
}

/**
 * Returns the part of a path below the base path; null if the path is not below it. The base path itself gives `/`.
 *
 * Segments are compared decoded, because the same segment can be encoded in several ways.
 */
const pathBelow = (basePath: string): ((path: string) => string | null) => {
  if (basePath === "") return (path) => path
  const segments = basePath.split("/").map(decode)
  return (path) => {
    if (path === basePath) return "/"
    if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length)
    if (!path.includes("%")) return null
    const sent = path.split("/")
    if (segments.some((segment, index) => decode(sent[index] ?? "") !== segment)) return null
    return `/${sent.slice(segments.length).join("/")}`
  }
}

const decode = (segment: string): string | null => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
