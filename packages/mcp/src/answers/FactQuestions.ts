import type { ApiError, Line, Resource } from "@quotewire/core"
import { Predicate } from "effect"

/** What to ask a person before a quote request is started, derived from the JSON Schema of the line's facts. */
export interface FactQuestions {
  /** The questions that always need an answer. Alternative facts form one question. */
  readonly always: ReadonlyArray<string>
  /** Additional questions, each with the condition that makes it necessary. */
  readonly sometimes: ReadonlyArray<string>
}

interface FactRules {
  /**
   * Sets of alternative groups of facts. From each set, one complete group is enough. A fact is a path with `*` instead
   * of list indexes.
   */
  readonly alternatives: ReadonlyArray<ReadonlyArray<ReadonlyArray<string>>>
  /** Facts that are required if other facts have certain values. */
  readonly conditions: ReadonlyArray<{ readonly when: string; readonly paths: ReadonlyArray<string> }>
}

/** The questions for the required facts in these capabilities. They use the labels of the insurance line. */
export const of = (
  { required_facts, required_facts_schema }: Resource.Capabilities,
  line: Pick<Line.Line, "neededFact"> | undefined
): FactQuestions => {
  const { alternatives, conditions } = find(required_facts_schema, [])
  const labelOf = (path: string) => line?.neededFact(path).label ?? path
  const firstOf = (path: string) => path.replaceAll("*", "0")
  const groupsOf = (path: string) =>
    alternatives.find((groups) => groups.some((group) => group.some((name) => firstOf(name) === path)))
  return {
    always: [
      ...new Set(
        required_facts.map(({ label, path }) => {
          const groups = groupsOf(path)
          return groups === undefined ? label : listed(groups, labelOf)
        })
      )
    ],
    sometimes: conditions.map(({ paths, when }) => `${paths.map(labelOf).join(" and ")} (if ${when})`)
  }
}

/**
 * Describes the missing facts in a refusal, one line of text for each fact to ask for. Alternative facts share a line.
 *
 * An error about any other field becomes a line with the field's path and the error message.
 */
export const missing = (errors: ReadonlyArray<ApiError.FieldError>, line: Line.Line): ReadonlyArray<string> => {
  const { alternatives } = find(line.facts_schema, [])
  return [
    ...new Set(
      errors.map(({ message, path }) => {
        const indexes = path.split(".").filter(isIndex)
        const fact = starred(factOf(path))
        const groups = alternatives.find((alternative) => alternative.flat().includes(fact))
        if (groups === undefined) return `${path}: ${message}`
        const argumentPath = (factName: string) =>
          `application.${indexes.reduce((whole, index) => whole.replace("*", index), factName)}`
        return `${listed(groups, argumentPath)}: ${listed(groups, (factName) => line.neededFact(factName).label)}`
      })
    )
  ]
}

/** Formats alternatives as text, such as "a, or b and c". */
const listed = (groups: ReadonlyArray<ReadonlyArray<string>>, nameOf: (path: string) => string): string =>
  groups.map((group) => group.map(nameOf).join(" and ")).join(", or ")

/** Finds the alternatives and the conditions in a schema and its subschemas. */
const find = (schema: unknown, path: ReadonlyArray<string>): FactRules => {
  if (!Predicate.isObject(schema)) return nothing
  const pathTo = (name: string) => [...path, name].join(".")
  const properties = Predicate.isObject(schema.properties) ? Object.entries(schema.properties) : []
  const parts = [
    ...properties.map(([name, member]) => find(member, [...path, name])),
    find(schema.items, [...path, "*"])
  ]
  const groups = listIn(schema.anyOf).map(requiredIn)
  const rules = [schema, ...listIn(schema.allOf)].flatMap((rule) => {
    if (!Predicate.isObject(rule) || rule.if === undefined) return []
    return [{ when: conditionOf(rule.if), paths: requiredIn(rule.then).map(pathTo) }]
  })
  return {
    alternatives: [
      ...(groups.length > 0 && groups.every((group) => group.length > 0)
        ? [groups.map((group) => group.map(pathTo))]
        : []),
      ...parts.flatMap(({ alternatives }) => alternatives)
    ],
    conditions: [...rules, ...parts.flatMap(({ conditions }) => conditions)]
  }
}

const nothing: FactRules = { alternatives: [], conditions: [] }

const listIn = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const requiredIn = (schema: unknown): ReadonlyArray<string> =>
  Predicate.isObject(schema) ? listIn(schema.required).filter(Predicate.isString) : []

/** Formats a condition as text, such as "species is dog and breed is mixed or unknown". */
const conditionOf = (schema: unknown): string => {
  const properties = Predicate.isObject(schema) && Predicate.isObject(schema.properties) ? schema.properties : {}
  return Object.entries(properties)
    .map(([name, value]) => {
      const { const: only, enum: values } = Predicate.isObject(value) ? value : {}
      return `${name} is ${(only === undefined ? listIn(values) : [only]).join(" or ")}`
    })
    .join(" and ")
}

/** The path of a fact relative to its application: `application.drivers.0.age` becomes `drivers.0.age`. */
export const factOf = (path: string): string => path.replace(/^application\./, "")

/**
 * A path with `*` instead of list indexes, as insurance lines name their facts: `drivers.0.age` becomes
 * `drivers.*.age`.
 */
export const starred = (path: string): string => path.replaceAll(/\b\d+\b/g, "*")

/** Whether a part of a path is a list index. */
export const isIndex = (part: string): boolean => /^\d+$/.test(part)
