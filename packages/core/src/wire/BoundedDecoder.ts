import {
  Array as Arr,
  Exit,
  Predicate,
  Result,
  Schema,
  SchemaAST,
  SchemaIssue,
  SchemaParser,
  SchemaTransformation
} from "effect"
import { maxCounted, maxListed } from "./FieldError.ts"

/*
 * Finds the faults in a value, up to a limit. A decoder creates several objects for each fault, so a list of wrong
 * items would take a hundred times its own size in memory. Therefore this module rebuilds schemas so that they stop
 * decoding list items and record members once enough of them are wrong.
 */

/** Some of the faults in a wrong value, and how many more there are. */
export interface FoundFaults {
  /** All faults, if there are few; otherwise the faults in the first hundred wrong items. */
  readonly issue: SchemaIssue.Issue
  /** How many more items are wrong; 0 if they were not counted. */
  readonly more: number
}

/**
 * The kind of value that is decoded. In a caller's `input`, unknown fields are wrong, and undefined fields are treated
 * as absent. Wrong items beyond the limit are counted, which costs time for each item. In any other `value`, such as a
 * carrier's answer, unknown fields are dropped.
 */
type Source = "input" | "value"

/** The maximum number of items and members in a wrong value. For a larger value, only the first fault is reported. */
const maxMembers = 50_000

/**
 * Compiles a schema into a function that finds the faults in a wrong value that is not an input: about a hundred at
 * most. For a large value, the function reports only the first fault, which the caller passes in: a full search would
 * cost as much as reading the value.
 */
export const faultFinder = (
  schema: Schema.Decoder<unknown>
): ((value: unknown, firstIssue: SchemaIssue.Issue) => SchemaIssue.Issue) => {
  const budget = new Budget()
  const bounded = schemaOf(new Bounding(budget, "value").rebuild(schema.ast))
  const look = Schema.decodeUnknownResult(bounded, { errors: "all" })
  return (value, firstIssue) => {
    if (isLarge(value)) return firstIssue
    budget.reset()
    const looked = look(value)
    // The description of the faults is lazy and may decode parts of the value again, which needs a new budget.
    budget.reset()
    return Result.isFailure(looked) ? looked.failure.issue : firstIssue
  }
}

/** Whether a value's lists and plain objects together have more than fifty thousand items and members. */
export const isLarge = (value: unknown): boolean => {
  const queue = [value]
  // The queue grows during the loop.
  for (const container of queue) {
    if (!isListOrRecord(container)) continue
    // Members are counted before they are read, because reading a large object's members takes longer than counting
    // them.
    const members = Array.isArray(container) ? container.length : Object.keys(container).length
    if (queue.length + members > maxMembers) return true
    for (const member of Object.values(container)) queue.push(member)
  }
  return false
}

/** Whether a value is a plain data object, and not an instance of a class. */
export const isRecord = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> => {
  if (!Predicate.isReadonlyObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // Objects from other realms have a different prototype.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

const isListOrRecord = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  Array.isArray(value) || isRecord(value)

/** Compiles a schema into a decoder for inputs that searches for about a hundred faults at most. */
export const decoder = <A>(schema: Schema.Decoder<A>): ((value: unknown) => Result.Result<A, FoundFaults>) => {
  const onExcessProperty = "error"
  const budget = new Budget()
  const bounded = new Bounding(budget, "input").rebuild(schema.ast)
  const decode = firstFault(schema, { onExcessProperty })
  const look = Schema.decodeUnknownResult(Schema.make<Schema.Decoder<A>>(bounded), { errors: "all", onExcessProperty })
  return (value) => {
    budget.reset()
    const looked = look(value)
    const { is_spent, more } = budget
    // The description of the faults is lazy and may decode parts of the value again, which needs a new budget.
    budget.reset()
    // A union's member can look valid although it is not, if faults in another member have used up the budget.
    const decoded = Result.isSuccess(looked) && is_spent ? decode(value) : looked
    return Result.mapError(decoded, ({ issue }) => ({ issue, more }))
  }
}

/**
 * Compiles a schema into a decoder that stops at the first fault. References in a recursive schema are followed at most
 * `maxVisits.first` times: if members of a union share fields, the attempts multiply with every level of the value.
 */
export const firstFault = <A>(
  schema: Schema.Decoder<A>,
  options: SchemaAST.ParseOptions = {}
): ((value: unknown) => Result.Result<A, Schema.SchemaError>) => {
  if (!isRecursive(schema.ast)) return Schema.decodeUnknownResult(schema, options)
  const budget = new Budget()
  const bounded = Schema.make<Schema.Decoder<A>>(new Bounding(budget, "value").rebuild(schema.ast))
  const decode = Schema.decodeUnknownResult(bounded, options)
  return (value) => {
    budget.resetForFirst()
    return decode(value)
  }
}

const isRecursive = (ast: SchemaAST.AST, visited = new Set<SchemaAST.AST>()): boolean => {
  if (visited.has(ast)) return false
  visited.add(ast)
  return ast._tag === "Suspend" || partsOf(ast).some((part) => isRecursive(part, visited))
}

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  const encoded = ast.encoding?.map(({ to }) => to) ?? []
  switch (ast._tag) {
    case "Objects":
      return [
        ...encoded,
        ...ast.propertySignatures.map(({ type }) => type),
        ...ast.indexSignatures.map(({ type }) => type)
      ]
    case "Arrays":
      return [...encoded, ...ast.elements, ...ast.rest]
    case "Union":
      return [...encoded, ...ast.types]
    default:
      return encoded
  }
}

/**
 * How many references in a recursive schema are followed for one value: `first` in a search for the first fault, `all`
 * in a search for all faults.
 */
const maxVisits = { first: 20_000, all: 1_000 }

/** How many more faults a decoder may search for in this value, and how many it has left out. */
class Budget {
  items = 0
  unknown_fields = 0
  more = 0
  visits = 0

  /** Call this before searching a value for all its faults. */
  reset(): void {
    this.items = maxListed
    this.unknown_fields = maxListed
    this.more = 0
    this.visits = maxVisits.all
  }

  /** Call this before a search that stops at the first fault. */
  resetForFirst(): void {
    this.items = Number.POSITIVE_INFINITY
    this.unknown_fields = Number.POSITIVE_INFINITY
    this.visits = maxVisits.first
  }

  get is_spent(): boolean {
    return this.items <= 0
  }
}

const originals = new WeakMap<SchemaAST.AST, SchemaAST.AST>()

/** The original of a rebuilt part of a schema. The issues of `decoder` and `finder` refer to rebuilt parts. */
export const originalOf = (ast: SchemaAST.AST): SchemaAST.AST => originals.get(ast) ?? ast

const tooManyWays = {
  message: "Must have fewer levels of nested alternatives: there are too many combinations to check."
}

const schemaOf = (ast: SchemaAST.AST) => Schema.make<Schema.Decoder<unknown>>(ast)

/** Rebuilds schemas so that they search for faults within a budget. */
class Bounding {
  readonly #budget: Budget
  readonly #is_input: boolean
  readonly #known = new Map<SchemaAST.AST, SchemaAST.AST>()

  constructor(budget: Budget, source: Source) {
    this.#budget = budget
    this.#is_input = source === "input"
  }

  readonly rebuild = (ast: SchemaAST.AST): SchemaAST.AST => {
    const cached = this.#known.get(ast)
    if (cached !== undefined) return cached
    const rebuilt = this.#rebuilt(ast)
    this.#known.set(ast, rebuilt)
    originals.set(rebuilt, ast)
    return rebuilt
  }

  #rebuilt(ast: SchemaAST.AST): SchemaAST.AST {
    const { annotations, checks, context } = ast
    const encoding = this.#linked(ast)
    switch (ast._tag) {
      case "Objects":
        return this.#object(ast, encoding ?? (this.#is_input ? this.#kept(ast) : undefined))
      case "Arrays": {
        const { elements, rest } = this.#items(ast)
        return new SchemaAST.Arrays(
          ast.isMutable,
          elements,
          rest,
          annotations,
          checks,
          encoding,
          context,
          ast.encodingChecks
        )
      }
      case "Union": {
        // Effect distinguishes the members of a union of objects by their fields, so these members must stay plain
        // objects.
        const isMany = ast.types.filter(SchemaAST.isObjects).length > 1
        const types = ast.types.map((type) =>
          isMany && SchemaAST.isObjects(type) ? this.#object(type, this.#linked(type)) : this.rebuild(type)
        )
        return new SchemaAST.Union(types, ast.options, annotations, checks, encoding, context, ast.encodingChecks)
      }
      case "Suspend":
        return new SchemaAST.Suspend(() => this.#visited(ast.thunk()), annotations, undefined, encoding, context)
      case "Declaration": {
        const { encodingChecks, encodingRun, run, typeParameters } = ast
        if (encoding === undefined) return ast
        return new SchemaAST.Declaration(
          typeParameters,
          run,
          annotations,
          checks,
          encoding,
          context,
          encodingChecks,
          encodingRun
        )
      }
      default:
        return ast
    }
  }

  /** Follows a reference to another schema, unless too many references have been followed already. */
  #visited(ast: SchemaAST.AST): SchemaAST.AST {
    const budget = this.#budget
    const run = () => {
      const decode = SchemaParser.decodeUnknownExit(schemaOf(this.rebuild(ast)))
      return (value: unknown, _: SchemaAST.Declaration, options: SchemaAST.ParseOptions) => {
        budget.visits -= 1
        return budget.visits < 0 ? Exit.fail(new SchemaIssue.InvalidValue(tooManyWays)) : decode(value, options)
      }
    }
    return new SchemaAST.Declaration([], run)
  }

  #linked({ encoding }: SchemaAST.AST): SchemaAST.Encoding | undefined {
    const links = encoding?.map(({ to, transformation }) => new SchemaAST.Link(this.rebuild(to), transformation)) ?? []
    return Arr.isReadonlyArrayNonEmpty(links) ? links : undefined
  }

  #object(ast: SchemaAST.Objects, encoding: SchemaAST.Encoding | undefined): SchemaAST.Objects {
    const { annotations, checks, context, encodingChecks, indexSignatures, propertySignatures } = ast
    const fields = propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, this.rebuild(type)))
    const members = indexSignatures.map(
      ({ parameter, type }) => new SchemaAST.IndexSignature(parameter, this.#item(type))
    )
    return new SchemaAST.Objects(fields, members, annotations, checks, encoding, context, encodingChecks)
  }

  /** Prepares an object for decoding. It removes undefined fields, and unknown fields beyond the budget. */
  #kept({ context, indexSignatures, propertySignatures }: SchemaAST.Objects): SchemaAST.Encoding {
    const names = indexSignatures.length > 0 ? null : new Set(propertySignatures.map(({ name }) => name))
    const isKept = (name: string, value: unknown): boolean => {
      if (value === undefined) return false
      if (names === null || names.has(name)) return true
      if (this.#budget.unknown_fields > 0) {
        this.#budget.unknown_fields -= 1
        return true
      }
      this.#budget.more += 1
      return false
    }
    const keep = (value: unknown): unknown => {
      if (!Predicate.isReadonlyObject(value)) return value
      const sent = Object.keys(value)
      const keptNames = sent.filter((name) => isKept(name, value[name]))
      return keptNames.length === sent.length ? value : Object.fromEntries(keptNames.map((name) => [name, value[name]]))
    }
    const { ast } = context?.isOptional === true ? Schema.optionalKey(Schema.Unknown) : Schema.Unknown
    return [new SchemaAST.Link(ast, SchemaTransformation.transform({ decode: keep, encode: keep }))]
  }

  /**
   * Rebuilds the items of a list. If the list has a maximum length, items beyond it are not decoded, because the list
   * is wrong anyway.
   */
  #items(list: SchemaAST.Arrays): Pick<SchemaAST.Arrays, "elements" | "rest"> {
    const elements = list.elements.map(this.rebuild)
    const [first, ...others] = list.rest
    if (first === undefined) return { elements, rest: [] }
    const bound = boundOf(list)
    if (bound === undefined || elements.length > 0 || others.length > 0) {
      return { elements, rest: [this.#item(first), ...others.map(this.rebuild)] }
    }
    const item = Schema.optionalKey(schemaOf(this.#item(first))).ast
    return { elements: Arr.makeBy(bound, () => item), rest: [Schema.Unknown.ast] }
  }

  /** Rebuilds an item of a list or a member of a record. The rebuilt item is not decoded once the budget is used up. */
  #item(ast: SchemaAST.AST): SchemaAST.AST {
    const budget = this.#budget
    const run = () => {
      const decode = SchemaParser.decodeUnknownExit(schemaOf(this.rebuild(ast)))
      const isValid = this.#is_input ? validatorOf(ast) : null
      return (value: unknown, _: SchemaAST.Declaration, options: SchemaAST.ParseOptions) => {
        // JSON writes an undefined item as null.
        const item = value === undefined && this.#is_input ? null : value
        if (budget.is_spent) {
          if (isValid !== null && budget.more <= maxCounted && !isValid(item)) budget.more += 1
          return Exit.succeed(item)
        }
        const itemsBefore = budget.items
        const decoded = decode(item, options)
        // If an item itself contains wrong items, those were already counted.
        if (Exit.isFailure(decoded) && budget.items === itemsBefore) budget.items -= 1
        return decoded
      }
    }
    return new SchemaAST.Declaration([], run)
  }
}

const validatorOf = (ast: SchemaAST.AST): ((item: unknown) => boolean) => {
  const decode = firstFault(schemaOf(ast), { onExcessProperty: "error" })
  return (item) => Result.isSuccess(decode(item))
}

/** The maximum length of a list (`max_items`). A longer list is wrong anyway, so items beyond it are not checked. */
export const boundOf = ({ checks }: SchemaAST.AST): number | undefined =>
  checks?.map(({ annotations }) => annotations?.max_items).find(Predicate.isNumber)
