import { Predicate } from "effect"

/** An object of a JSON document whose form is known only in part, such as an OpenAPI document. */
export type Node = Readonly<Record<string, unknown>>

/** The object at a name, or at a local reference that stands there; an empty one where nothing does. */
export const at = (root: Node, node: Node, name: string): Node => follow(root, node[name])

/** The objects at a name that holds a list, references followed. */
export const list = (root: Node, node: Node, name: string): ReadonlyArray<Node> => {
  const items = node[name]
  return Array.isArray(items) ? items.map((item) => follow(root, item)) : []
}

/** The named objects at a name, references followed. */
export const entries = (root: Node, node: Node, name: string): ReadonlyArray<readonly [string, Node]> =>
  Object.entries(at(root, node, name)).map(([key, value]) => [key, follow(root, value)])

/** The text at a name; empty where none stands there. */
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
