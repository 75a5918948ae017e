import { Option, Predicate, Schema, type SchemaAST } from "effect"
import { BrokenRule } from "./BrokenRule.ts"
import { mapChanged } from "./Json.ts"

/*
 * Wrong fields: how one is reported, how many a refusal lists, and how the rest are counted without being decoded.
 */

/** One wrong or missing field. The message never repeats the refused value. */
export const FieldError = Schema.Struct({
  ...BrokenRule.fields,
  path: Schema.String.annotate({
    description:
      "Dots and zero-based numbers, as in application.vehicles.0.vin; empty where a last entry counts the rest"
  }),
  allowed_values: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "FieldError" })
export type FieldError = typeof FieldError.Type

/** Wrong fields: some in detail, and how many more there are. */
export interface WrongFields {
  readonly found: ReadonlyArray<FieldError>
  readonly more: number
}

/** At most this many fields are listed in a refusal. */
export const max_listed = 100

/** Longer paths are cut, because the names in a path can be as long as a body. */
const max_path = 256

/** At most this many allowed values are listed in a refusal. Further fields are listed without theirs. */
const max_allowed_values = 1_000

/** Collects wrong fields: the first hundred in detail, the rest by number. */
export const collector = () => {
  const found: Array<FieldError> = []
  let more = 0
  return {
    add: (error: () => FieldError): void => {
      if (found.length < max_listed) found.push(error())
      else more += 1
    },
    all: (): WrongFields => ({ found, more })
  }
}

/** Joins wrong fields of several places, in order. */
export const joinWrongFields = (...places: ReadonlyArray<WrongFields | ReadonlyArray<FieldError>>): WrongFields => {
  const all = places.map((place) => ("found" in place ? place : { found: place, more: 0 }))
  return { found: all.flatMap(({ found }) => found), more: all.reduce((sum, { more }) => sum + more, 0) }
}

/** How many fields are wrong. */
export const countOf = ({ found, more }: WrongFields): number => found.length + more

/** The fields that a refusal lists: the first hundred, and a last entry with an empty path that counts the rest. */
export const limitFields = (wrong: WrongFields, noun: string): ReadonlyArray<FieldError> => {
  let values = 0
  const entries = wrong.found.slice(0, max_listed).map(({ path, message, allowed_values }): FieldError => {
    values += allowed_values?.length ?? 0
    return {
      path: shortened(path),
      message,
      ...(allowed_values !== undefined && values <= max_allowed_values && { allowed_values })
    }
  })
  const rest = countOf(wrong) - entries.length
  return rest === 0 ? entries : [...entries, { path: "", message: `… and ${pluralize(rest, `more ${noun}`)}.` }]
}

/** "1 more wrong field", "3,912 more wrong fields". */
export const pluralize = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`

const shortened = (path: string): string =>
  path.length <= max_path ? path : `${path.slice(0, max_path).replace(/[\ud800-\udbff]$/, "")}…`

/*
 * Trimming. A decoder makes several objects for each wrong field, which takes a tenth of a second if a body is full of them. So one
 * walk along the schema first removes and counts the wrong fields that no refusal would name. It does not look inside
 * values of the wrong type or unknown fields, because the refusal names only their path.
 */

/** An input without the wrong fields that no refusal names. */
export interface Trimmed {
  /** The input itself if nothing was removed. Fields that are undefined count as absent. */
  readonly input: unknown
  /** How many wrong fields were removed. */
  readonly omitted: number
  /** Whether the schema knows every field. False if that is not certain. */
  readonly all_known: boolean
}

/** Compiles a schema into a function that trims inputs. It does not change an input with few or no wrong fields. */
export const trimmer = (schema: Schema.Top): ((input: unknown) => Trimmed) => {
  const trim = trimmerOf(schema.ast)
  return (sent) => {
    const count: Count = { omitted: 0, unknown: 0, all_known: true }
    const input = trim(sent, count)
    return { input, omitted: count.omitted, all_known: count.all_known && count.unknown === 0 }
  }
}

/** The counts so far, over the whole input. */
interface Count {
  omitted: number
  /** How many unknown fields were kept. */
  unknown: number
  all_known: boolean
}

/** Returns the value, or a copy without the removed fields. */
type Trimmer = (value: unknown, count: Count) => unknown

const trimmerOf = (ast: SchemaAST.AST): Trimmer => {
  if (ast.encoding !== undefined) return unread
  switch (ast._tag) {
    case "Objects":
      return ast.indexSignatures.every(({ type }) => type._tag === "Never") ? objectTrimmer(ast) : unread
    case "Arrays": {
      const [item] = ast.rest
      return item === undefined || ast.elements.length > 0 ? unread : listTrimmer(item, boundOf(ast))
    }
    case "Union": {
      const [inner = scalar, ...others] = ast.types.map(trimmerOf).filter((trim) => trim !== scalar)
      return others.length === 0 ? inner : unread
    }
    case "Any":
    case "Unknown":
    case "ObjectKeyword":
      return unchanged
    case "Declaration":
    case "Suspend":
      return unread
    default:
      return scalar
  }
}

const unchanged: Trimmer = (value) => value

/** Empties a list or an object where the schema allows none. */
const scalar: Trimmer = (value) => {
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? [] : {}
}

/** Leaves a value unchanged if its schema is of a type unknown here. Only the decoder can check it. */
const unread: Trimmer = (value, count) => {
  if (typeof value === "object" && value !== null) count.all_known = false
  return value
}

/** Keeps the known fields of an object, and the first hundred unknown fields of the whole input. */
const objectTrimmer = ({ propertySignatures }: SchemaAST.Objects): Trimmer => {
  const known = new Map<PropertyKey, Trimmer>(propertySignatures.map(({ name, type }) => [name, trimmerOf(type)]))
  const inner = [...known].filter(([, trim]) => trim !== unchanged && trim !== scalar)
  return (value, count) => {
    if (!Predicate.isReadonlyObject(value)) return scalar(value, count)
    // Copy only if something changes: most inputs are valid.
    const unknown: Array<string> = []
    let changed: Map<PropertyKey, unknown> | null = null
    let isTrimmed = false
    for (const name of Object.keys(value)) {
      const member = value[name]
      const trim = known.get(name)
      if (member === undefined) isTrimmed = true
      else if (trim === undefined && count.unknown === max_listed) {
        count.omitted += 1
        isTrimmed = true
      } else {
        if (trim === undefined) {
          count.unknown += 1
          unknown.push(name)
        } else if (trim !== scalar) continue
        const after = scalar(member, count)
        if (after !== member) changed = (changed ?? new Map()).set(name, after)
      }
    }
    // After the object's own fields, because refusals name the fields in this order.
    for (const [name, trim] of inner) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined
      const after = trim(member, count)
      if (after !== member) changed = (changed ?? new Map()).set(name, after)
    }
    if (!isTrimmed && changed === null) return value
    const kept = [...unknown, ...known.keys()].filter((name) => Object.hasOwn(value, name) && value[name] !== undefined)
    return Object.fromEntries(kept.map((name) => [name, changed?.has(name) ? changed.get(name) : value[name]]))
  }
}

/** The bound of a list (`max_items`). A longer list is wrong anyway, so items beyond the bound are not checked. */
export const boundOf = ({ checks }: SchemaAST.AST): number | undefined =>
  checks?.map(({ annotations }) => annotations?.max_items).find(Predicate.isNumber)

/** Keeps the items of a list up to the hundredth wrong one, and at most one more than the bound of a bounded list. */
const listTrimmer = (item: SchemaAST.AST, bound?: number): Trimmer => {
  const isRight = judge(item)
  const trim = trimmerOf(item)
  return (value, count) => {
    if (!Array.isArray(value)) return scalar(value, count)
    // An undefined item is null, as it would be in JSON.
    const trimItem = (item: unknown) => (item === undefined ? null : trim(item, count))
    if (bound !== undefined) return mapChanged(value.length > bound ? value.slice(0, bound + 1) : value, trimItem)
    let end = value.length
    let wrong = 0
    for (let at = 0; at < value.length && value.length > max_listed; at++) {
      if (!isRight(value[at]) && ++wrong === max_listed) end = at + 1
    }
    count.omitted += Math.max(0, wrong - max_listed)
    return mapChanged(end === value.length ? value : value.slice(0, end), trimItem)
  }
}

const types: { readonly [tag: string]: string } = { Boolean: "boolean", Number: "number", String: "string" }

/** Whether a value matches a schema. Checks plain values without the decoder, which takes many times as long. */
const judge = (ast: SchemaAST.AST): ((value: unknown) => boolean) => {
  const literals = literalsOf(ast)
  if (literals !== null) return (value) => literals.has(value)
  const type = types[ast._tag]
  const { checks = [] } = ast
  if (type === undefined || ast.encoding !== undefined) {
    const decode = Schema.decodeUnknownOption(Schema.make<Schema.Decoder<unknown>>(ast), { onExcessProperty: "error" })
    return (value) => Option.isSome(decode(value))
  }
  return (value) => typeof value === type && checks.every((check) => passes(check, value, ast))
}

const passes = (check: SchemaAST.Check<unknown>, value: unknown, ast: SchemaAST.AST): boolean =>
  check._tag === "Filter"
    ? check.run(value, ast, {}) === undefined
    : check.checks.every((one) => passes(one, value, ast))

const literalsOf = (ast: SchemaAST.AST): ReadonlySet<unknown> | null => {
  if (ast._tag !== "Union" || ast.checks !== undefined) return null
  const literals = ast.types.flatMap((type) => (type._tag === "Literal" ? [type.literal] : []))
  return literals.length === ast.types.length ? new Set<unknown>(literals) : null
}
