import { Predicate } from "effect"

/** An object of a JSON document whose structure is only partly known, such as an OpenAPI document. */
export type Node = Readonly<Record<string, unknown>>

/** Returns the object under a name, with a local reference resolved; an empty object if the name is missing. */
export const at = (root: Node, node: Node, name: string): Node => follow(root, node[name])

/** Returns the objects in the list under a name, with references resolved. */
export const list = (root: Node, node: Node, name: string): ReadonlyArray<Node> => {
  const items = node[name]
  return Array.isArray(items) ? items.map((item) => follow(root, item)) : []
}

/** Returns the named objects under a name, with references resolved. */
export const entries = (root: Node, node: Node, name: string): ReadonlyArray<readonly [string, Node]> =>
  Object.entries(at(root, node, name)).map(([key, value]) => [key, follow(root, value)])

/** Returns the text under a name; an empty string if the name is missing. */
export const text = (node: Node, name: string): string => {
  const value = node[name]
  return typeof value === "string" ? value : ""
}

const follow = (root: Node, value: unknown): Node => {
  if (!Predicate.isObject(value)) return {}
  if (typeof value.$ref !== "string") return value
  const names = value.$ref.slice(2).split("/")
  return names.reduce<Node>((node, name) => at(root, node, name), root)
}
