import { Data, Function, Layer, Predicate, Result, Schema } from "effect"
import * as RevisionRules from "../calls/RevisionRules.ts"
import * as AdapterRules from "../carriers/AdapterRules.ts"
import * as Connection from "../carriers/Connection.ts"
import type { Line } from "../lines/Line.ts"
import { type LineSet, linesOf, standard } from "../lines/Lines.ts"
import { type FictionalCarrier, fictionalCarrierList } from "../sandbox/Lineup.ts"
import { Callable } from "../wire/Argument.ts"
import { listed } from "../wire/BrokenRule.ts"
import { isForeignLayer, otherCopy } from "../wire/EffectCopy.ts"
import { type FieldError, limitFields } from "../wire/FieldError.ts"
import * as Input from "../wire/Input.ts"
import type { Config } from "./Config.ts"

/**
 * An invalid configuration, or invalid options of `embed`. The message lists every mistake with its path, and never
 * repeats a value. `mistakes` contains the same information as data.
 */
export class InvalidConfig extends Data.TaggedError("InvalidConfig")<{
  readonly message: string
  /** The wrong options, each with its path and what it must be. */
  readonly mistakes?: ReadonlyArray<FieldError>
}> {
  /** The error's code. Every error of the promise functions has a code. */
  readonly code = "invalid_config"
}

const idsOf = Function.memoize((carriers: ReadonlyArray<FictionalCarrier>) => new Set(carriers.map(({ id }) => id)))

/** Finds the mistakes in an option's value, with paths relative to the option. `config` is the whole configuration. */
export type OptionRule = (value: unknown, config: UncheckedConfig) => ReadonlyArray<FieldError>

/** A configuration that has not been checked yet. */
type UncheckedConfig = Readonly<Record<PropertyKey, unknown>>

const findWrongLine = Input.findings(
  Schema.Struct({
    name: Schema.String,
    facts_schema: Schema.ObjectKeyword,
    read: Callable,
    complete: Callable,
    faults: Callable
  })
)

const isLine = (value: unknown): value is Line => findWrongLine(value).length === 0

const linesRule: OptionRule = (value) => {
  if (!Array.isArray(value)) return [{ path: "", message: "Must be a list of lines." }]
  const list: ReadonlyArray<unknown> = value
  if (list.length === 0) return [{ path: "", message: "Must have at least one line." }]
  const names = list.map((line) => (isLine(line) ? line.name : null))
  return list.flatMap((line, position) => {
    if (!isLine(line)) return [{ path: `${position}`, message: "Must be a line that defineLine returned." }]
    return [...line.faults(), ...nameMistakes(names, position)].map(below(`${position}`))
  })
}

const nameMistakes = (names: ReadonlyArray<string | null>, position: number): ReadonlyArray<FieldError> => {
  const first = names.indexOf(names[position] ?? null)
  return first === position ? [] : [{ path: "name", message: `Must differ from lines.${first}.name.` }]
}

/** The lines in a configuration, without entries that are not lines; by default the standard lines. */
const linesIn = ({ lines }: UncheckedConfig): LineSet =>
  Array.isArray(lines) ? linesOf(lines.filter(isLine)) : standard

const isRating = Schema.is(
  Schema.Struct({
    line: Schema.Struct({ name: Schema.String }),
    covers: Schema.Array(Schema.String),
    variables: Schema.Struct({
      policy: Schema.ObjectKeyword,
      subject: Schema.ObjectKeyword,
      driver: Schema.ObjectKeyword
    }),
    settings: Schema.Array(Schema.String),
    riskOf: Callable
  })
)

const ratingsRule: OptionRule = (value, config) => {
  if (!Array.isArray(value)) return [{ path: "", message: "Must be a list of ratings." }]
  const list: ReadonlyArray<unknown> = value
  const lines = linesIn(config)
  const names = list.map((rating) => (isRating(rating) ? rating.line.name : null))
  return names.flatMap((name, position) => {
    if (name === null) return [{ path: `${position}`, message: "Must be a rating that Rating.make returned." }]
    const first = names.indexOf(name)
    if (first !== position) return [{ path: `${position}.line`, message: `Must differ from ratings.${first}.line.` }]
    return lines.has(name) ? [] : [{ path: `${position}.line`, message: "Must be listed in lines." }]
  })
}

const carriersRule: OptionRule = (value, config) => {
  if (!Array.isArray(value)) return [{ path: "", message: "Must be a list of carriers." }]
  const list: ReadonlyArray<unknown> = value
  const lines = linesIn(config)
  const ids = list.map((carrier) => (hasId(carrier) ? carrier.carrier.id : null))
  return list.flatMap((carrier, position) =>
    [...AdapterRules.check(carrier, lines), ...idMistakes(ids, position)].map(below(`${position}`))
  )
}

const hasId = Schema.is(Schema.Struct({ carrier: Schema.Struct({ id: Schema.String }) }))

const idMistakes = (ids: ReadonlyArray<string | null>, position: number): ReadonlyArray<FieldError> => {
  const id = ids[position] ?? null
  if (id === null) return []
  const first = ids.indexOf(id)
  if (idsOf(fictionalCarrierList()).has(id))
    return [{ path: "carrier.id", message: "Is the id of a fictional carrier; choose a different one." }]
  if (first === position) return []
  return [{ path: "carrier.id", message: `Must differ from carriers.${first}.carrier.id.` }]
}

const Connections = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))
const areConnections = Schema.is(Connections)
const findWrongConnections = Input.findings(Connections)

const sandboxConnectionsRule: OptionRule = (value, { carriers }) => {
  if (!areConnections(value)) return findWrongConnections(value)
  const list: ReadonlyArray<unknown> = Array.isArray(carriers) ? carriers : []
  const adapters = list.filter(AdapterRules.isAdapter)
  // If one carrier is invalid, it is unknown which connections the carriers need.
  if (adapters.length < list.length) return []
  return Object.entries(value).flatMap(([carrier_id, values]) =>
    Result.match(Connection.check(adapters, { carrier_id, environment: "sandbox", values }), {
      onSuccess: () => [],
      onFailure: (faults) => faults.filter((fault) => !isUnset(values, fault)).map(inConnection(carrier_id))
    })
  )
}

/** Whether a mistake is about an undefined value, such as the value of an unset environment variable. */
const isUnset = (values: Readonly<Record<string, unknown>>, { path }: FieldError): boolean =>
  Object.entries(values).some(([name, value]) => value === undefined && path === `values.${name}`)

/**
 * A mistake in a connection, with its path in the option. A mistake that is not about a value is reported for the
 * carrier as a whole.
 */
const inConnection =
  (carrierId: string) =>
  (fault: FieldError): FieldError =>
    below(carrierId)({ ...fault, path: fault.path.replace(/^(carrier_id|environment|values)(\.|$)/, "") })

/** Makes a rule that has only one message. */
export const must =
  (message: string, holds: (value: unknown) => boolean): OptionRule =>
  (value) =>
    holds(value) ? [] : [{ path: "", message }]

/** Makes a rule for an option that takes a layer. */
export const layerRule =
  (message: string): OptionRule =>
  (value) => {
    if (isForeignLayer(value)) return [{ path: "", message: otherCopy }]
    return Layer.isLayer(value) ? [] : [{ path: "", message }]
  }

const recorded = Schema.optionalKey(Schema.Literals(["all", "failures", "none"]))

/** One rule for each option. If a rule is missing, this does not compile. */
export const configRules: { readonly [Option in keyof Config]-?: OptionRule } = {
  lines: linesRule,
  ratings: ratingsRule,
  carriers: carriersRule,
  fictional_carriers: must("Must be true or false.", Predicate.isBoolean),
  carrier_transport: layerRule("Must be a layer, such as CarrierTransports.layer()."),
  sandbox_connections: sandboxConnectionsRule,
  revisions: RevisionRules.mistakesIn,
  exchange_recording: Input.findings(Schema.Struct({ sandbox: recorded, live: recorded })),
  exchanges_days: Input.findings(Input.wholeNumber(1, 366)),
  on_carrier_exchange: must("Must be a function.", Predicate.isFunction)
}

/** Checks each option with its rule. Returns the error, or null if there is no mistake. */
export const checkOptions = (
  value: unknown,
  rules: Readonly<Record<string, OptionRule>>,
  required: ReadonlyArray<string> = []
): InvalidConfig | null => {
  const faults = mistakesIn(value, rules, required)
  return faults.length === 0 ? null : invalidConfig(faults)
}

/** Reads a configuration. Also checks types, because the configuration file may never have been type-checked. */
export const readConfig = (value: unknown): Result.Result<Config, InvalidConfig> =>
  isConfig(value) ? Result.succeed(value) : Result.fail(invalidConfig(mistakesIn(value, configRules)))

const isConfig = (value: unknown): value is Config => checkOptions(value, configRules) === null

const mistakesIn = (
  value: unknown,
  rules: Readonly<Record<string, OptionRule>>,
  required: ReadonlyArray<string> = []
): ReadonlyArray<FieldError> => {
  if (!Predicate.isReadonlyObject(value))
    return [{ path: "", message: "Must be an object, such as the one that defineConfig returns." }]
  const optionValues = new Map([...required.map((option) => [option, undefined] as const), ...Object.entries(value)])
  return Array.from(optionValues).flatMap(([option, optionValue]) => {
    const rule = Object.hasOwn(rules, option) ? rules[option] : undefined
    if (rule === undefined) return [{ path: option, message: noSuchOption(rules) }]
    return optionValue === undefined && !required.includes(option) ? [] : rule(optionValue, value).map(below(option))
  })
}

const noSuchOption = (rules: object): string =>
  `There is no such option. The options are ${Object.keys(rules).join(", ")}.`

const below =
  (place: string) =>
  (fault: FieldError): FieldError => ({ ...fault, path: fault.path === "" ? place : `${place}.${fault.path}` })

/** Makes the error for the mistakes in a configuration. */
export const invalidConfig = (mistakes: ReadonlyArray<FieldError>): InvalidConfig =>
  new InvalidConfig({
    message: listed(
      "The configuration is not valid:",
      limitFields({ found: mistakes, more: 0 }, "error").map(sentenceOf)
    ),
    mistakes
  })

const sentenceOf = ({ path, message, allowed_values = [] }: FieldError): string =>
  [
    path === "" ? [] : [`${path}:`],
    message,
    allowed_values.length === 0 ? [] : `Allowed: ${allowed_values.join(", ")}.`
  ]
    .flat()
    .join(" ")
