import { Option, Predicate, Schema, type SchemaAST } from "effect"
import { max_named } from "./FieldError.ts"

/*
 * A decoder makes several objects for each wrong field, which takes a tenth of a second for a large body full of them. So
 * fields that no refusal would list are counted and removed before the decoder runs.
 */

/** An input without the wrong fields that will not be listed, and the number of those. */
export interface Cut {
  readonly input: unknown
  readonly left_out: number
}

/** Compiles the cutter of a schema. An input with few or no wrong fields is not changed. */
export const cutter = (schema: Schema.Top): ((input: unknown) => Cut) => {
  const cut = cutterOf(schema.ast)
  return (input) => {
    const count: Count = { left_out: 0 }
    return { input: cut(input, count), left_out: count.left_out }
  }
}

interface Count {
  left_out: number
}

/** Returns the value, or a copy without the fields that it has counted. */
type Cutter = (value: unknown, count: Count) => unknown

const cutterOf = (ast: SchemaAST.AST): Cutter => {
  switch (ast._tag) {
    case "Objects":
      return ast.indexSignatures.every(({ type }) => type._tag === "Never") ? objectCutter(ast) : asItIs
    case "Arrays": {
      const [item] = ast.rest
      return item === undefined || ast.elements.length > 0 ? asItIs : listCutter(item, boundOf(ast))
    }
    default:
      return asItIs
  }
}

const asItIs: Cutter = (value) => value

/** Keeps the known fields of an object, and the first hundred unknown ones. */
const objectCutter = ({ propertySignatures }: SchemaAST.Objects): Cutter => {
  const known = new Map<PropertyKey, Cutter>(propertySignatures.map(({ name, type }) => [name, cutterOf(type)]))
  return (value, count) => {
    if (!Predicate.isObject(value)) return value
    const kept: Array<[string, unknown]> = []
    let isCut = false
    let unknown = 0
    for (const name of Object.keys(value)) {
      const cut = known.get(name)
      if (cut === undefined && ++unknown > max_named) continue
      const member = cut === undefined ? value[name] : cut(value[name], count)
      isCut ||= member !== value[name]
      kept.push([name, member])
    }
    if (unknown > max_named) count.left_out += unknown - max_named
    return isCut || unknown > max_named ? Object.fromEntries(kept) : value
  }
}

/** The bound of a list (`max_items`). A longer list is wrong anyway, so items beyond the bound are not checked. */
export const boundOf = ({ checks }: SchemaAST.AST): number | undefined =>
  checks?.map(({ annotations }) => annotations?.max_items).find(Predicate.isNumber)

/** Keeps the items of a long list up to the hundredth wrong one; of a bounded list, one more than the bound. */
const listCutter = (item: SchemaAST.AST, bound?: number): Cutter => {
  const isRight = judge(item)
  const cut = cutterOf(item)
  return (value, count) => {
    if (!Array.isArray(value)) return value
    if (bound !== undefined) return value.slice(0, bound + 1).map((one) => cut(one, count))
    const wrong = value.length > max_named ? whereNot(value, isRight) : []
    const last = wrong[max_named - 1]
    const kept = last === undefined ? value : value.slice(0, last + 1)
    count.left_out += Math.max(0, wrong.length - max_named)
    return cut === asItIs ? kept : kept.map((one) => cut(one, count))
  }
}

/** The indexes of the wrong items. */
const whereNot = (items: ReadonlyArray<unknown>, isRight: (item: unknown) => boolean): ReadonlyArray<number> => {
  const wrong: Array<number> = []
  for (let at = 0; at < items.length; at++) if (!isRight(items[at])) wrong.push(at)
  return wrong
}

const types: { readonly [tag: string]: string } = { Boolean: "boolean", Number: "number", String: "string" }

/** Whether a value matches a schema. For plain values it avoids the decoder, which takes many times as long. */
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
