import { Predicate } from "effect"
import type { FieldError } from "../wire/ApiError.ts"
import { isCalendarDate } from "../wire/CalendarDate.ts"
import { max_named } from "../wire/FieldError.ts"
import { isLonger } from "../wire/Input.ts"
import type { JsonValue } from "../wire/Json.ts"

/*
 * Compiles the part of JSON Schema 2020-12 that the facts use into closures, once for each schema. A stock validator
 * answers "not valid under any of the given schemas" where a caller needs every path that is wrong or still missing.
 */

/** The part of JSON Schema 2020-12 that is understood; a schema with any other keyword is refused when it is compiled. */
export interface JsonSchema {
  readonly $schema?: string
  readonly $id?: string
  readonly description?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<string | number | null>
  readonly const?: string | number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema | undefined }
  readonly additionalProperties?: boolean
  readonly required?: ReadonlyArray<string>
  readonly dependentRequired?: { readonly [name: string]: ReadonlyArray<string> | undefined }
  readonly anyOf?: ReadonlyArray<{ readonly required: ReadonlyArray<string> }>
  readonly allOf?: ReadonlyArray<{
    readonly if: JsonSchema
    readonly then: { readonly required: ReadonlyArray<string> }
  }>
  readonly "x-pii"?: string
  readonly "x-tier"?: string
  readonly "x-assume"?: { readonly value?: JsonValue; readonly from?: string; readonly formula?: string }
}

/** What is wrong with a value: the required paths that are absent, and the paths that hold something refused. */
export interface Problems {
  readonly missing: Array<FieldError>
  readonly invalid: Array<FieldError>
  /** How many unknown fields are left out: of each object the first hundred are told. */
  more: number
}

/** No problems yet. */
export const noProblems = (): Problems => ({ missing: [], invalid: [], more: 0 })

/** An `A` of which any part may be absent, and what is there is right. */
export type Draft<A> =
  A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Draft<Item>>
    : A extends object
      ? { readonly [K in keyof A]?: Draft<A[K]> }
      : A

/** A compiled schema, whose values are `A`. */
export interface Checker<A> {
  /** Whether a value is an `A`; adds everything that is wrong with it to `problems`. */
  readonly isWhole: (value: unknown, problems: Problems) => value is A & Draft<A>
  /** What is left of a value without what `problems` refuse; null where nothing is, or where too much is refused. */
  readonly draftOf: (value: unknown, problems: Problems) => Draft<A> | null
}

/** How problems are told: the name of the whole value, a sentence for each pattern, and labels of facts by path. */
export interface Wording {
  readonly root: string
  readonly patterns: { readonly [pattern: string]: string }
  /** By path below the root, with `*` for a number, as in `drivers.*.date_of_birth`. */
  readonly labels: { readonly [path: string]: string }
}

/** Compiles a schema; the caller vouches that `A` is the type that the schema describes. */
export const compile = <A>(schema: JsonSchema, wording: Wording): Checker<A> => {
  const root = nodeOf(schema, "", wording)
  const isDraft = (value: unknown): value is Draft<A> => {
    const problems = noProblems()
    root.check(value, "", wording.root, problems)
    return problems.invalid.length === 0
  }
  return {
    isWhole: (value, problems): value is A & Draft<A> => {
      root.check(value, "", wording.root, problems)
      return problems.missing.length === 0 && problems.invalid.length === 0
    },
    draftOf: (value, problems) => {
      const refused = new Set(problems.invalid.map((error) => error.path))
      if (problems.more > 0 || refused.has(wording.root)) return null
      const sound = without(value, wording.root, refused)
      return isDraft(sound) ? sound : null
    }
  }
}

/** A value without the members at the given paths; an item of a list leaves an empty object, to keep the numbers. */
const without = (value: unknown, path: string, refused: ReadonlySet<string>): unknown => {
  if (Array.isArray(value)) {
    return value.map((item, i) => (refused.has(`${path}.${i}`) ? {} : without(item, `${path}.${i}`, refused)))
  }
  if (!Predicate.isReadonlyObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !refused.has(`${path}.${name}`))
      .map(([name, member]) => [name, without(member, `${path}.${name}`, refused)])
  )
}

/**
 * One compiled schema: what to say of a value that is there, and of a required one that is not.
 *
 * A value is told by its owner's path and its own name, which are put together only where there is something to say.
 */
interface Node {
  readonly check: (value: unknown, owner: string, name: string | number, problems: Problems) => void
  readonly absent: (path: string, problems: Problems, because?: string) => void
}

/** The path of a member: the whole value has no owner. */
const pathTo = (owner: string, name: string | number): string => (owner === "" ? `${name}` : `${owner}.${name}`)

const known_keywords = new Set(
  (
    "$schema $id description type enum const minLength maxLength pattern format minimum maximum multipleOf minItems " +
    "maxItems items properties additionalProperties required dependentRequired anyOf allOf x-pii x-tier x-assume"
  ).split(" ")
)

const nodeOf = (schema: JsonSchema, at: string, wording: Wording): Node => {
  const unknown = Object.keys(schema).find((keyword) => !known_keywords.has(keyword))
  if (unknown !== undefined) throw new Error(`The schema at ${at} has a keyword that is not understood: ${unknown}`)
  const label = wording.labels[at]
  const required = label === undefined ? "This fact is required." : `Required: ${label}.`
  if (schema.enum !== undefined) return enumNode(schema.enum, required)
  switch (schema.type) {
    case "object":
      return objectNode(schema, at, wording)
    case "array":
      return arrayNode(schema, at, wording)
    case "string":
      return leaf(stringCheck(schema, wording), required)
    case "integer":
      return leaf(integerCheck(schema), required)
    case "boolean":
      return leaf((value) => (typeof value === "boolean" ? null : "Must be true or false."), required, [
        "true",
        "false"
      ])
    default:
      throw new Error(`The schema at ${at} has a type that is not understood: ${schema.type}`)
  }
}

const fieldError = (path: string, message: string, allowed_values?: ReadonlyArray<string>): FieldError =>
  allowed_values === undefined ? { path, message } : { path, message, allowed_values }

/** A node without members, from a check that says what is wrong with a value, or null. */
const leaf = (
  wrong: (value: unknown) => string | null,
  required: string,
  allowed_values?: ReadonlyArray<string>
): Node => ({
  check: (value, owner, name, problems) => {
    const message = wrong(value)
    if (message !== null) problems.invalid.push(fieldError(pathTo(owner, name), message, allowed_values))
  },
  absent: (path, problems, because) =>
    problems.missing.push(fieldError(path, because === undefined ? required : `${required} ${because}`, allowed_values))
})

const enumNode = (values: ReadonlyArray<string | number | null>, required: string): Node => {
  const allowed = new Set<unknown>(values)
  return leaf(
    (value) => (allowed.has(value) ? null : "Must be one of the allowed values."),
    required,
    values.map(String)
  )
}

const email = /^[^\s@<>()",;:\\]+@[^\s@.<>()",;:\\]+(?:\.[^\s@.<>()",;:\\]+)+$/

const formats: { readonly [format: string]: { readonly test: (text: string) => boolean; readonly message: string } } = {
  date: { test: isCalendarDate, message: "Must be a day of the calendar, YYYY-MM-DD." },
  email: { test: (text) => email.test(text), message: "Must be an e-mail address." }
}

const isShorter = (text: string, min: number): boolean => text.length < 2 * min && [...text].length < min

const stringCheck = (schema: JsonSchema, wording: Wording): ((value: unknown) => string | null) => {
  const min = schema.minLength ?? 0
  const max = schema.maxLength ?? Number.MAX_SAFE_INTEGER
  const pattern = schema.pattern === undefined ? null : new RegExp(schema.pattern, "u")
  const form = wording.patterns[schema.pattern ?? ""] ?? "Must have the form that the schema asks for."
  const format = schema.format === undefined ? null : formats[schema.format]
  if (format === undefined) throw new Error(`The schema has a format that is not understood: ${schema.format}`)
  const length = max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : min === 0 ? `at most ${max}` : `${min} to ${max}`
  return (value) => {
    if (typeof value !== "string") return "Must be text."
    if (isLonger(value, max) || isShorter(value, min)) return `Must have ${length} characters.`
    if (value.includes("\0") || !value.isWellFormed()) return "Must be text without NUL or broken characters."
    if (pattern !== null && !pattern.test(value)) return form
    return format === null || format.test(value) ? null : format.message
  }
}

const integerCheck = ({ minimum, maximum, multipleOf: step = 1 }: JsonSchema): ((value: unknown) => string | null) => {
  if (minimum === undefined || maximum === undefined) throw new Error("A number in the schema has no bounds.")
  const steps = step === 1 ? "" : ` in steps of ${step}`
  const message = `Must be a whole number from ${minimum} to ${maximum}${steps}.`
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= minimum && value <= maximum && value % step === 0
      ? null
      : message
}

const arrayNode = (schema: JsonSchema, at: string, wording: Wording): Node => {
  if (schema.items?.type !== "object") throw new Error(`The list at ${at} has items that are not objects.`)
  const items = nodeOf(schema.items, pathTo(at, "*"), wording)
  const min = schema.minItems ?? 0
  const max = schema.maxItems ?? Number.MAX_SAFE_INTEGER
  const absent: Node["absent"] = (path, problems) => items.absent(`${path}.0`, problems)
  return {
    absent,
    check: (value, owner, name, problems) => {
      const path = pathTo(owner, name)
      if (!Array.isArray(value)) {
        problems.invalid.push(fieldError(path, "Must be a list."))
        return
      }
      if (value.length > max) problems.invalid.push(fieldError(path, `Must have at most ${max} items.`))
      // What is missing from an empty list is its first item: its facts are what the caller has to send.
      if (value.length < min) absent(path, problems)
      const count = Math.min(value.length, max)
      for (let i = 0; i < count; i++) items.check(value[i], path, i, problems)
    }
  }
}

type Members = { readonly [name: PropertyKey]: unknown }
/** A rule of an object that makes members required. */
type Need = (value: Members, path: string, problems: Problems) => void

const objectNode = (schema: JsonSchema, at: string, wording: Wording): Node => {
  if (schema.additionalProperties !== false) throw new Error(`The object at ${at} takes unknown fields.`)
  const nodes = new Map<string, Node>()
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (member !== undefined) nodes.set(name, nodeOf(member, pathTo(at, name), wording))
  }
  const members = [...nodes].map(([name, node]) => ({ name, node, required: schema.required?.includes(name) === true }))
  const needs = needsOf(schema, nodes)
  const check = (value: Members, path: string, problems: Problems): void => {
    let found = 0
    for (const { name, node, required } of members) {
      const member = value[name]
      if (member !== undefined) {
        found += 1
        node.check(member, path, name, problems)
      } else if (required) node.absent(`${path}.${name}`, problems)
    }
    for (const need of needs) need(value, path, problems)
    const names = Object.keys(value)
    if (names.length === found) return
    const most = problems.invalid.length + max_named
    for (const name of names) {
      if (nodes.has(name)) continue
      if (problems.invalid.length >= most) problems.more += 1
      else problems.invalid.push(fieldError(`${path}.${name}`, "This field is not known."))
    }
  }
  return {
    // An object that is absent lacks what an empty one lacks: the caller sees the facts to send, not a bare name.
    absent: (path, problems) => check({}, path, problems),
    check: (value, owner, name, problems) => {
      const path = pathTo(owner, name)
      if (Predicate.isReadonlyObject(value)) check(value, path, problems)
      else problems.invalid.push(fieldError(path, "Must be an object."))
    }
  }
}

const needsOf = (schema: JsonSchema, nodes: ReadonlyMap<string, Node>): ReadonlyArray<Need> => {
  const needs: Array<Need> = []
  const require =
    (names: ReadonlyArray<string>, because?: string): Need =>
    (value, path, problems) => {
      for (const name of names) {
        if (value[name] === undefined) nodes.get(name)?.absent(`${path}.${name}`, problems, because)
      }
    }
  if (schema.anyOf !== undefined) {
    const ways = schema.anyOf.map((way) => way.required)
    const need = require(ways.flat(), `Send ${ways.map(listed).join(", or ")}.`)
    needs.push((value, path, problems) => {
      if (!ways.some((way) => way.every((name) => value[name] !== undefined))) need(value, path, problems)
    })
  }
  for (const [name, others] of Object.entries(schema.dependentRequired ?? {})) {
    const need = require(others ?? [], `It goes with ${name}.`)
    needs.push((value, path, problems) => {
      if (value[name] !== undefined) need(value, path, problems)
    })
  }
  for (const condition of schema.allOf ?? []) {
    const holds = conditionOf(condition.if)
    const need = require(condition.then.required)
    needs.push((value, path, problems) => {
      if (holds(value)) need(value, path, problems)
    })
  }
  return needs
}

const conditionOf = (schema: JsonSchema): ((value: Members) => boolean) => {
  const tests = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const values = new Set<unknown>(member?.enum ?? [member?.const])
    if (schema.required?.includes(name) !== true) throw new Error(`A condition does not require its member ${name}.`)
    return { name, values }
  })
  return (value) => tests.every(({ name, values }) => value[name] !== undefined && values.has(value[name]))
}

/** "vin", "model_year, make and model". */
const listed = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.slice(-1).join()}`
