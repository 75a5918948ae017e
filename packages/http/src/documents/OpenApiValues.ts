import { ApiError, Caller, Event, type Lines } from "@quotewire/core"
import type { JsonSchema } from "effect"

/*
 * Lists of values that appear in many places of the document. Each list becomes one component, so that a generated
 * client has one type for it.
 */

/** A named list of values. */
export interface Values {
  readonly name: string
  readonly values: ReadonlyArray<string>
  readonly description: string
  /** Whether new revisions can add values. If so, clients need a default branch (api.md, Compatible changes). */
  readonly can_grow: boolean
}

const grows = "Any revision can add values, so readers need a default branch."

/** The lists of values in the OpenAPI document of a host that offers these insurance lines. */
export const of = (lines: Lines.LineSet): ReadonlyArray<Values> => [
  { name: "Line", values: [...lines.keys()], description: `Insurance line. ${grows}`, can_grow: true },
  { name: "ErrorCode", values: ApiError.codes, description: `Error code. ${grows}`, can_grow: true },
  { name: "EventType", values: Event.choosable, description: `Type of an event. ${grows}`, can_grow: true },
  {
    name: "ResourceType",
    values: Event.ResourceType.literals,
    description: `Type of a resource. ${grows}`,
    can_grow: true
  },
  { name: "Environment", values: Caller.Environment.literals, description: "Environment.", can_grow: false }
]

/** Turns the lists into schema components. */
export const components = (lists: ReadonlyArray<Values>): JsonSchema.Definitions =>
  Object.fromEntries(
    lists.map(({ name, values, description }) => [name, { type: "string", enum: [...values], description }])
  )

/**
 * Returns a reference to replace a schema that equals one of the lists; undefined for other schemas. In a response, if
 * the list can grow, any other string is allowed too.
 */
export const placeOf = (
  lists: ReadonlyArray<Values>,
  { enum: values, description }: JsonSchema.JsonSchema,
  isAnswer: boolean
): JsonSchema.JsonSchema | undefined => {
  if (!Array.isArray(values)) return undefined
  const list = lists.find(
    (candidate) =>
      candidate.values.length === values.length && candidate.values.every((value, i) => value === values[i])
  )
  if (list === undefined) return undefined
  const reference = { $ref: `#/components/schemas/${list.name}` }
  return {
    ...(typeof description === "string" ? { description } : {}),
    ...(isAnswer && list.can_grow ? { anyOf: [reference, { type: "string" }] } : reference)
  }
}
