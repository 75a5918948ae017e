import { Predicate, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { type LineSet, standard } from "../lines/Lines.ts"
import { servedStates } from "../lines/State.ts"
import { Callable } from "../wire/Argument.ts"
import { type BrokenRule, fromFieldError, rule } from "../wire/BrokenRule.ts"
import * as Input from "../wire/Input.ts"
import { plain } from "../wire/PlainText.ts"
import { minuteMs, OffsetDateTime, toMillis } from "../wire/Timestamp.ts"
import { type CarrierAdapter, type CarrierLine, maxAttemptMs } from "./Carrier.ts"

/**
 * Finds the mistakes in an adapter, each with its path within the adapter. The list is empty if the adapter is valid.
 *
 * Call this once, before the adapter is used. The check does not call the adapter, and its messages contain none of the
 * adapter's values. `lines` are the host's lines, or null if they are not known yet. In that case, only the terms for
 * standard lines are compared with the facts of their lines.
 */
export const check = (adapter: unknown, lines: LineSet | null = standard): ReadonlyArray<BrokenRule> => {
  const wrongTypes = findWrong(adapter).map(fromFieldError)
  const isWrong = (path: string): boolean =>
    wrongTypes.some((wrong) => wrong.path === path || isUnder(wrong.path, path) || isUnder(path, wrong.path))
  if (!hasFields(adapter)) return wrongTypes
  return [...wrongTypes, ...relations(adapter, lines).flatMap(({ reads, find }) => (reads.some(isWrong) ? [] : find()))]
}

const isUnder = (path: string, above: string): boolean => above === "" || path.startsWith(`${above}.`)

const textLike = (form: RegExp, expected: string) =>
  Schema.String.check(Schema.makeFilter((text) => form.test(text), { expected }))

const listOf = <S extends Schema.Schema<unknown>>(item: S, expected: string) =>
  Schema.Array(item).check(Schema.makeFilter((items) => items.length > 0, { expected }))

const stateCodes: ReadonlySet<string> = new Set(servedStates)

const ServedState = Schema.String.check(
  Schema.makeFilter((text) => stateCodes.has(text), { expected: "a USPS state code or DC, such as NY" })
)

const Terms = Schema.Struct({
  states: listOf(ServedState, "a list with at least one state"),
  needs: Schema.Array(Schema.String),
  wants: Schema.optional(Schema.Array(Schema.String)),
  maintenance: Schema.optional(Schema.Array(Schema.Struct({ from: OffsetDateTime, until: OffsetDateTime }))),
  uses_credit: Schema.Boolean,
  mode: Schema.Literals(["sync", "poll", "callback"]),
  idempotent: Schema.Boolean,
  attempt_timeout_ms: Input.wholeNumber(1, maxAttemptMs),
  typical_ms: Input.wholeNumber(1, minuteMs),
  hedge_after_ms: Schema.NullOr(Input.wholeNumber(1, maxAttemptMs)),
  rate_per_minute: Input.wholeNumber(1, 1_000_000),
  max_concurrent: Input.wholeNumber(1, 10_000)
})

const hostName = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

/** A name that people and models read. */
const PlainName = Input.textUpTo(100, 1).check(
  Schema.makeFilter((text) => plain(text) === text, { expected: "text without hidden characters" })
)

const Adapter = Schema.Struct({
  carrier: Schema.Struct({
    id: Schema.String,
    name: PlainName,
    registry_ids: Schema.Array(PlainName).check(Schema.isMaxLength(100, { expected: "a list of at most 100 ids" }))
  }),
  environments: listOf(Environment, "a list with sandbox, live or both"),
  lines: Schema.Record(Schema.String, Terms).check(
    Schema.makeFilter((lines) => Object.keys(lines).length > 0, { expected: "an object with at least one line" })
  ),
  handoff_hosts: Schema.Array(
    textLike(hostName, "a host name in lower case, without a scheme, port or path, such as quotes.acme.example")
  ),
  connection: Schema.optional(
    Schema.Record(Schema.String, Schema.Literals(["string", "secret"])).check(
      Schema.makeFilter((fields) => Object.keys(fields).every((name) => /^[a-z][a-z0-9_]{0,39}$/.test(name)), {
        expected: "an object whose field names have at most 40 lower-case letters, digits and underscores"
      })
    )
  ),
  testConnection: Schema.optional(Callable),
  appetite: Schema.optional(Callable),
  ask: Callable,
  poll: Schema.optional(Callable),
  callback: Schema.optional(Callable),
  refresh: Schema.optional(Callable),
  handoff: Schema.optional(Callable)
})

const findWrong = Input.findings(Adapter)

/** Whether each field of an adapter is valid by itself. `check` also compares fields with each other. */
export const isAdapter = (value: unknown): value is CarrierAdapter => findWrong(value).length === 0

/**
 * Whether a value is an object. Treating the value as an adapter is safe, because a `Relation` reads only fields that
 * are valid by themselves.
 */
const hasFields = (value: unknown): value is CarrierAdapter => Predicate.isReadonlyObject(value)

const realId = /^naic:[0-9]{5}$|^(?!naic:)[a-z][a-z0-9]*:[a-z0-9][a-z0-9._-]{0,62}$/
const fictionalId = /^sbx_[a-z0-9_]{1,60}$/

/**
 * A rule about several fields, each of which must be valid by itself: the paths that the rule reads, and a function
 * that returns the broken rules.
 */
interface Relation {
  readonly reads: ReadonlyArray<string>
  readonly find: () => ReadonlyArray<BrokenRule>
}

const relations = (adapter: CarrierAdapter, lines: LineSet | null): ReadonlyArray<Relation> => [
  { reads: ["carrier.id"], find: () => brokenId(adapter) },
  { reads: ["handoff", "handoff_hosts"], find: () => brokenHandoff(adapter) },
  { reads: ["testConnection", "connection"], find: () => brokenTest(adapter) },
  ...(Predicate.isObject(adapter.lines) ? Object.entries(adapter.lines) : []).flatMap(([name, terms]) =>
    relationsOfLine(adapter, name, terms, lines)
  )
]

const brokenId = ({ carrier, simulation }: CarrierAdapter): ReadonlyArray<BrokenRule> =>
  rule(
    (simulation === undefined ? realId : fictionalId).test(carrier.id),
    "carrier.id",
    simulation === undefined
      ? 'Must be "naic:" and the five-digit NAIC code. If the carrier has no NAIC code, use another registry and the carrier name in it, such as mga:acme-general.'
      : 'Must be "sbx_" and lower-case letters, digits and underscores.'
  )

const brokenHandoff = ({ handoff, handoff_hosts }: CarrierAdapter): ReadonlyArray<BrokenRule> =>
  rule(
    handoff === undefined || handoff_hosts.length > 0,
    "handoff_hosts",
    "Must list the hosts that handoff links to, because the adapter has handoff."
  )

const brokenTest = ({ connection, testConnection }: CarrierAdapter): ReadonlyArray<BrokenRule> =>
  rule(
    testConnection === undefined || connection !== undefined,
    "connection",
    "Is required, because the adapter has testConnection."
  )

const relationsOfLine = (
  adapter: CarrierAdapter,
  name: string,
  terms: CarrierLine,
  lines: LineSet | null
): ReadonlyArray<Relation> => {
  const path = `lines.${name}`
  const line = (lines ?? standard).get(name)
  if (line === undefined && lines !== null) {
    const message = `Must be one of ${[...lines.keys()].join(", ")}. If the line is your own, list it in the \`lines\` option.`
    return [{ reads: [], find: () => [{ path, message }] }]
  }
  const facts = (field: "needs" | "wants"): Relation => ({
    reads: [`${path}.${field}`],
    find: () => (line === undefined ? [] : brokenFacts(`${path}.${field}`, terms[field] ?? [], line.fact_paths))
  })
  return [
    facts("needs"),
    facts("wants"),
    { reads: [`${path}.maintenance`], find: () => brokenMaintenance(path, terms) },
    {
      reads: [`${path}.idempotent`, `${path}.hedge_after_ms`],
      find: () =>
        rule(
          terms.idempotent || terms.hedge_after_ms === null,
          `${path}.hedge_after_ms`,
          "Must be null, because the line is not idempotent, and a hedge is a second ask."
        )
    },
    { reads: [`${path}.mode`], find: () => brokenMode(adapter, path, terms) }
  ]
}

const brokenMode = (adapter: CarrierAdapter, path: string, { mode }: CarrierLine): ReadonlyArray<BrokenRule> =>
  rule(mode === "sync" || adapter[mode] !== undefined, mode, `Is required, because ${path}.mode is ${mode}.`)

const brokenFacts = (
  path: string,
  declared: ReadonlyArray<string>,
  knownNames: ReadonlyArray<string>
): ReadonlyArray<BrokenRule> =>
  declared.flatMap((fact, index) =>
    rule(
      knownNames.includes(fact),
      `${path}.${index}`,
      "Must be the path of one of this line's facts, such as applicant.email. In a list's path, * stands for every item."
    )
  )

const brokenMaintenance = (path: string, { maintenance = [] }: CarrierLine): ReadonlyArray<BrokenRule> =>
  maintenance.flatMap(({ from, until }, index) =>
    rule(toMillis(from) < toMillis(until), `${path}.maintenance.${index}.until`, "Must be later than `from`.")
  )
