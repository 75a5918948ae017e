import { Result } from "effect"

/*
 * The path of a request: where it is below the path that the host is mounted at, and what it leads to.
 */

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
const basePathRule =
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

/**
 * A node in the tree of paths. Literal segments take precedence over a parameter, and a parameter over the rest of a
 * path.
 */
interface Branch<A> {
  readonly literals: Map<string, Branch<A>>
  parameter: Branch<A> | null
  readonly leaves: Map<string, Leaf<A>>
  /** Values of paths that end with `{name...}` here. */
  readonly rests: Map<string, Leaf<A>>
}

interface Leaf<A> {
  readonly names: ReadonlyArray<string>
  readonly value: A
}

/** The value at a path and the values of the path's parameters. */
export interface Match<A> {
  readonly value: A
  readonly params: Readonly<Record<string, string>>
}

/** Finds values by method and path. */
export interface Paths<A> {
  /** Null if the path has no value for this method, or if its percent encoding is broken. */
  readonly find: (method: string, path: string) => Match<A> | null
}

const isParameter = (segment: string): boolean => segment.startsWith("{") && segment.endsWith("}")

const isRest = (segment: string | undefined): boolean => segment?.endsWith("...}") === true

/**
 * Builds the tree of paths.
 *
 * Paths must match exactly, including case, double slashes and trailing slashes (api.md, Requests and answers). Only a
 * last segment `{name...}` matches everything below, even several segments.
 */
export const make = <A>(entries: ReadonlyArray<{ method: string; path: string; value: A }>): Paths<A> => {
  const root = branch<A>()
  for (const { method, path, value } of entries) {
    const segments = path.split("/")
    const names = segments.filter(isParameter).map((segment) => segment.slice(1, -1).replace("...", ""))
    if (isRest(segments.at(-1))) segments.slice(0, -1).reduce(grow, root).rests.set(method, { names, value })
    else segments.reduce(grow, root).leaves.set(method, { names, value })
  }
  return {
    find: (method, path) => {
      const texts: Array<string> = []
      const leaf = descend(root, method, path.split("/"), 0, texts)
      if (leaf === null) return null
      const params: Record<string, string> = {}
      for (let index = 0; index < leaf.names.length; index++) {
        const text = decode(texts[index] ?? "")
        if (text === null) return null
        params[leaf.names[index] ?? ""] = text
      }
      return { value: leaf.value, params }
    }
  }
}

const branch = <A>(): Branch<A> => ({
  literals: new Map(),
  parameter: null,
  leaves: new Map(),
  rests: new Map()
})

const grow = <A>(from: Branch<A>, segment: string): Branch<A> => {
  if (isParameter(segment)) {
    from.parameter ??= branch()
    return from.parameter
  }
  const next = from.literals.get(segment) ?? branch()
  from.literals.set(segment, next)
  return next
}

/** Finds the leaf of a path. Puts the value of each parameter, still encoded, into `texts`. */
const descend = <A>(
  from: Branch<A>,
  method: string,
  segments: ReadonlyArray<string>,
  depth: number,
  texts: Array<string>
): Leaf<A> | null => {
  const segment = segments[depth]
  if (segment === undefined) return from.leaves.get(method) ?? null
  const literal = from.literals.get(segment)
  const found = literal === undefined ? null : descend(literal, method, segments, depth + 1, texts)
  if (found !== null) return found
  if (from.parameter !== null && segment !== "") {
    texts.push(segment)
    const below = descend(from.parameter, method, segments, depth + 1, texts)
    if (below !== null) return below
    texts.pop()
  }
  const rest = from.rests.get(method)
  if (rest === undefined) return null
  texts.push(segments.slice(depth).join("/"))
  return rest
}

const decode = (text: string): string | null => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
