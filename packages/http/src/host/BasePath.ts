import { Result } from "effect"

/** The rule for a base path, phrased to complete a sentence that begins with the setting's name. */
export const rule =
  "must be a path that begins with /, without query, fragment and empty segments, and with a percent sign written as %25"

/**
 * Parses a path such as `/api/insurance/`. The result is percent-encoded and has no trailing slash; it is empty for the
 * root.
 */
export const read = (text: string): Result.Result<string, typeof rule> => {
  if (text === "") return Result.succeed("")
  if (!text.startsWith("/") || /[?#\\\s\p{C}]/u.test(text)) return Result.fail(rule)
  const url = URL.parse(`http://host${text}`)
  const path = url?.pathname.replace(/\/+$/, "")
  return path === undefined || path.includes("//") || path.split("/").some((segment) => decode(segment) === null)
    ? Result.fail(rule)
    : Result.succeed(path)
}

/**
 * Returns the part of a path below the base path; null if the path is not below it. The base path itself gives `/`.
 *
 * Segments are compared decoded, because the same segment can be encoded in several ways.
 */
export const below = (basePath: string): ((path: string) => string | null) => {
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
