import { Predicate } from "effect"

/** What remains of a tool's declaration after a client has converted it. */
export interface Kept {
  /** How many of the facts are still declared, and how many there are. */
  readonly facts: readonly [kept: number, all: number]
  /** Whether the same facts are still required. `all required`: those, plus others that the host does not require. */
  readonly required: "kept" | "lost" | "all required"
  /** How many lists of allowed values remain. */
  readonly values: readonly [kept: number, all: number]
  /** How many type alternatives remain. */
  readonly unions: readonly [kept: number, all: number]
}

interface Shape {
  readonly facts: Set<string>
  readonly required: Set<string>
  readonly values: Set<string>
  readonly unions: Set<string>
}

/**
 * Compares the declaration that reached the model with the host's. Both are JSON Schemas, or a client's conversion of
 * one.
 */
export const compare = (declared: unknown, reached: unknown): Kept => {
  const ours = shapeOf(declared)
  const theirs = shapeOf(reached)
  const missing = [...ours.required].filter((path) => !theirs.required.has(path))
  const more = [...theirs.required].filter((path) => !ours.required.has(path) && ours.facts.has(path))
  return {
    facts: both(ours.facts, theirs.facts),
    required: missing.length > 0 ? "lost" : more.length > 0 ? "all required" : "kept",
    values: both(ours.values, theirs.values),
    unions: both(ours.unions, theirs.unions)
  }
}

const both = (ours: Set<string>, theirs: Set<string>) =>
  [[...ours].filter((path) => theirs.has(path)).length, ours.size] as const

const shapeOf = (root: unknown): Shape => {
  const shape: Shape = { facts: new Set(), required: new Set(), values: new Set(), unions: new Set() }
  walk(root, root, "", shape, 0)
  return shape
}

/** Deeper than any declaration. Stops the walk through recursive schemas. */
const mostLevels = 24

const walk = (root: unknown, node: unknown, path: string, shape: Shape, level: number): void => {
  if (!Predicate.isObject(node) || level > mostLevels) return
  const schema = node
  if (typeof schema.$ref === "string") walk(root, at(root, schema.$ref), path, shape, level + 1)
  if (Array.isArray(schema.enum) && schema.enum.length > 0) shape.values.add(path)
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  const alternatives = choices.filter((one) => !isNull(one))
  if (
    alternatives.length > 1 ||
    (Array.isArray(schema.type) && schema.type.filter((one) => one !== "null").length > 1)
  ) {
    shape.unions.add(path)
  }
  for (const one of choices) walk(root, one, path, shape, level + 1)
  walk(root, schema.items, `${path}[]`, shape, level + 1)
  for (const name of Array.isArray(schema.required) ? schema.required : []) shape.required.add(`${path}.${name}`)
  for (const [name, member] of Object.entries(Predicate.isObject(schema.properties) ? schema.properties : {})) {
    shape.facts.add(`${path}.${name}`)
    walk(root, member, `${path}.${name}`, shape, level + 1)
  }
}

const isNull = (schema: unknown): boolean =>
  Predicate.isObject(schema) && "type" in schema && (schema.type === "null" || schema.type === "NULL")

/** The schema that a reference within the same document points to. */
const at = (root: unknown, reference: string): unknown => {
  let node = root
  for (const name of reference.split("/").slice(1)) node = Predicate.isObject(node) ? node[name] : undefined
  return node
}
