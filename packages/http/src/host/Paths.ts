/** A node in the tree of paths. Literal segments take precedence over a parameter, and that over the rest of a path. */
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
      const found = descend(root, method, path.split("/"), 0)
      if (found === null) return null
      const params: Record<string, string> = {}
      for (let index = 0; index < found.names.length; index++) {
        const text = decode(found.texts[index] ?? "")
        if (text === null) return null
        params[found.names[index] ?? ""] = text
      }
      return { value: found.value, params }
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

interface Found<A> extends Leaf<A> {
  /** The value of each parameter, still encoded. */
  readonly texts: Array<string>
}

const descend = <A>(
  from: Branch<A>,
  method: string,
  segments: ReadonlyArray<string>,
  depth: number
): Found<A> | null => {
  const segment = segments[depth]
  if (segment === undefined) {
    const leaf = from.leaves.get(method)
    return leaf === undefined ? null : { ...leaf, texts: [] }
  }
  const literal = from.literals.get(segment)
  const found = literal === undefined ? null : descend(literal, method, segments, depth + 1)
  if (found !== null) return found
  const below = from.parameter === null || segment === "" ? null : descend(from.parameter, method, segments, depth + 1)
  below?.texts.unshift(segment)
  return below ?? restOf(from, method, segments, depth)
}

const restOf = <A>(
  from: Branch<A>,
  method: string,
  segments: ReadonlyArray<string>,
  depth: number
): Found<A> | null => {
  const leaf = from.rests.get(method)
  return leaf === undefined ? null : { ...leaf, texts: [segments.slice(depth).join("/")] }
}

const decode = (text: string): string | null => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
