import { Result } from "effect"

/*
 * Locates request paths below the path that the host is mounted at, and finds their routes.
 */

/** A request's target, relative to the path that the host is mounted at. */
export interface Target {
  readonly path: string
  /** The query string after the `?`, still percent-encoded. */
  readonly query: string
  /** The path that the host is mounted at, as callers see it; an empty string if it is the root. */
  readonly mount_path: string
}

/**
 * Finds a request's target; null if the URL is not below `base_path`.
 *
 * `stripped` is the part that a framework such as Express has already removed from the beginning of the URL.
 */
export type Locate = (url: string, stripped: string) => Target | null

/** Creates a function that locates targets below a base path. `basePath` is a result of `readBasePath`. */
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
    // The URL alone is not below the base path, so the framework has removed the base path too. With a pattern such as
    // `/insurance/*path`, Express removes everything.
    const relativePath = basePath === "" ? null : below(whole === "/" ? stripped : stripped + whole)
    return relativePath === null
      ? { path: whole, query, mount_path: stripped }
      : { path: relativePath, query, mount_path: basePath }
  }
}

/** Removes the origin from a URL. Proxies may send a full URL, but only its path and query matter. */
const withoutOrigin = (url: string): string => {
  if (url.startsWith("/")) return url
  const pathAndQuery = url.replace(/^https?:\/\/[^/?]*/i, "")
  return pathAndQuery.startsWith("?") || pathAndQuery === "" ? `/${pathAndQuery}` : pathAndQuery
}

/** The target of a request that is not below the base path. No route matches it. */
export const elsewhere: Target = { path: "", query: "", mount_path: "" }

/** The error for a wrong base path. */
const basePathRule =
  "Must be a path that begins with /, without a query, fragment or empty segments, and with percent signs written as %25."

/**
 * Parses a base path such as `/api/insurance/`. The result is percent-encoded and has no trailing slash. For the root
 * it is an empty string.
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
 * Creates a function that returns the part of a path below the base path, or null if the path is not below it. The base
 * path itself gives `/`.
 *
 * Segments are decoded before they are compared, because the same segment can be encoded in several ways.
 */
const pathBelow = (basePath: string): ((path: string) => string | null) => {
  if (basePath === "") return (path) => path
  const segments = basePath.split("/").map(decode)
  return (path) => {
    if (path === basePath) return "/"
    if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length)
    if (!path.includes("%")) return null
    const pathSegments = path.split("/")
    if (segments.some((segment, index) => decode(pathSegments[index] ?? "") !== segment)) return null
    return `/${pathSegments.slice(segments.length).join("/")}`
  }
}

/**
 * A node in the tree of paths. A literal segment takes precedence over a parameter, and a parameter over a `{name...}`
 * that matches the rest of the path.
 */
interface Branch<A> {
  readonly literals: Map<string, Branch<A>>
  parameter: Branch<A> | null
  readonly leaves: Map<string, Leaf<A>>
  /** The values of paths that end here with `{name...}`. */
  readonly rests: Map<string, Leaf<A>>
}

interface Leaf<A> {
  readonly parameters: ReadonlyArray<Parameter>
  readonly value: A
}

/** A path parameter: its name, and the index of its segment. The last parameter may continue to the end of the path. */
interface Parameter {
  readonly name: string
  readonly at: number
  readonly continues: boolean
}

/** The value at a path and the values of the path's parameters. */
export interface Match<A> {
  readonly value: A
  readonly params: Readonly<Record<string, string>>
}

/** Finds values by method and path. */
export interface Paths<A> {
  /** Finds the value for a method and a path; null if no value matches, or if the path's percent encoding is broken. */
  readonly find: (method: string, path: string) => Match<A> | null
}

const isParameter = (segment: string): boolean => segment.startsWith("{") && segment.endsWith("}")

const isRest = (segment: string | undefined): boolean => segment?.endsWith("...}") === true

/**
 * Builds the tree of paths.
 *
 * Paths must match exactly, including case, double slashes and trailing slashes (api.md, Requests and answers). Only a
 * final `{name...}` matches one or more segments.
 */
export const make = <A>(entries: ReadonlyArray<{ method: string; path: string; value: A }>): Paths<A> => {
  const root = branch<A>()
  for (const { method, path, value } of entries) {
    const segments = path.split("/")
    const parameters = segments.flatMap((segment, at) => (isParameter(segment) ? [parameterAt(at, segment)] : []))
    if (isRest(segments.at(-1))) segments.slice(0, -1).reduce(grow, root).rests.set(method, { parameters, value })
    else segments.reduce(grow, root).leaves.set(method, { parameters, value })
  }
  return {
    find: (method, path) => {
      const segments = path.split("/")
      const leaf = descend(root, method, segments, 0)
      if (leaf === null) return null
      const params: Record<string, string> = {}
      for (const { at, continues, name } of leaf.parameters) {
        const text = decode(continues ? segments.slice(at).join("/") : (segments[at] ?? ""))
        if (text === null) return null
        params[name] = text
      }
      return { value: leaf.value, params }
    }
  }
}

const parameterAt = (at: number, segment: string): Parameter => ({
  name: segment.slice(1, -1).replace("...", ""),
  at,
  continues: isRest(segment)
})

const branch = <A>(): Branch<A> => ({
  literals: new Map(),
  parameter: null,
  leaves: new Map(),
  rests: new Map()
})

const grow = <A>(parent: Branch<A>, segment: string): Branch<A> => {
  if (isParameter(segment)) {
    parent.parameter ??= branch()
    return parent.parameter
  }
  const next = parent.literals.get(segment) ?? branch()
  parent.literals.set(segment, next)
  return next
}

/** Finds the leaf for a path, from the segment at `depth` on. */
const descend = <A>(
  parent: Branch<A>,
  method: string,
  segments: ReadonlyArray<string>,
  depth: number
): Leaf<A> | null => {
  const segment = segments[depth]
  if (segment === undefined) return parent.leaves.get(method) ?? null
  const literal = parent.literals.get(segment)
  const match = literal === undefined ? null : descend(literal, method, segments, depth + 1)
  if (match !== null) return match
  const { parameter } = parent
  const below = parameter === null || segment === "" ? null : descend(parameter, method, segments, depth + 1)
  return below ?? parent.rests.get(method) ?? null
}

const decode = (text: string): string | null => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
