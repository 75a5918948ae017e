import { Predicate } from "effect"
import { parseAst } from "rolldown/parseAst"
import type { Source } from "./sources.ts"

/** A node of a syntax tree, in the ESTree format. */
export type Node = Readonly<Record<PropertyKey, unknown>>

/** The statements at the top of a file. */
export const statementsOf = ({ path, text }: Source): ReadonlyArray<Node> =>
  parseAst(text, { lang: path.endsWith(".tsx") ? "tsx" : "ts" }).body.flatMap((statement: unknown) =>
    Predicate.isObject(statement) ? [statement] : []
  )

/**
 * The values that code refers to: names, such as `Effect`, and members, such as `Effect.map`. Types, and the
 * names of properties and parameters, are left out.
 */
export const valuesIn = (node: unknown): ReadonlyArray<string> => {
  if (Array.isArray(node)) return node.flatMap(valuesIn)
  if (!Predicate.isObject(node) || typeof node.type !== "string") return []
  if (node.type === "Identifier") return [String(node.name)]
  // `x as T`, `x satisfies T` and `x!` contain a value; all other TypeScript syntax contains types.
  if (node.type.startsWith("TS")) return valuesIn(node.expression)
  if (node.type === "MemberExpression" && node.computed !== true) {
    const name = chainOf(node)
    return [...(name === null ? [] : [name]), ...valuesIn(node.object)]
  }
  const isPlainProperty = "key" in node && node.computed !== true
  const parts = Object.entries(node).filter(
    ([part]) => part !== "typeAnnotation" && !(part === "key" && isPlainProperty)
  )
  return parts.flatMap(([, child]) => valuesIn(child))
}

/** A name or a chain of members, such as `a.b.c`; null for anything else. */
const chainOf = (node: unknown): string | null => {
  if (!Predicate.isObject(node)) return null
  if (node.type !== "MemberExpression" || node.computed === true) return nameOf(node)[0] ?? null
  const object = chainOf(node.object)
  return object === null ? null : `${object}.${nameOf(node.property)[0]}`
}

const nameOf = (node: unknown): ReadonlyArray<string> =>
  Predicate.isObject(node) && node.type === "Identifier" ? [String(node.name)] : []

/** One name that a file declares at its top. */
export interface Declaration {
  readonly name: string
  readonly isExported: boolean
  /** The values that the declaration refers to, also through other declarations of the file. */
  readonly values: ReadonlySet<string>
}

/** The values that a file declares at its top, except imports. */
export const declarationsOf = (source: Source): ReadonlyArray<Declaration> => {
  const own = statementsOf(source).flatMap((statement) => {
    const isExported = statement.type === "ExportNamedDeclaration"
    const declared = isExported ? statement.declaration : statement
    if (!Predicate.isObject(declared)) return []
    const all = Array.isArray(declared.declarations) ? declared.declarations : [declared]
    return all.flatMap((one) => nameOf(one.id).map((name) => ({ name, isExported, used: new Set(valuesIn(one)) })))
  })
  const usedBy = new Map(own.map(({ name, used }) => [name, used]))
  const reached = (name: string, seen: Set<string>): Set<string> => {
    for (const used of usedBy.get(name) ?? []) {
      if (seen.has(used)) continue
      seen.add(used)
      reached(used, seen)
    }
    return seen
  }
  return own.map(({ isExported, name }) => ({ name, isExported, values: reached(name, new Set()) }))
}
