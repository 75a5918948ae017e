import {
  Arbitrary,
  Effect,
  Hash,
  JsonSchema,
  Option,
  Predicate,
  References,
  Schema,
  SchemaRepresentation
} from "effect"
import type { HttpClient } from "effect/http"
import type { CarrierAdapter } from "../../carriers/Carrier.ts"
import { CarrierTransport } from "../../carriers/CarrierTransport.ts"
import * as CalendarDay from "../../wire/CalendarDay.ts"
import { canonical } from "../../wire/Json.ts"
import * as Cassette from "../Cassette.ts"
import { broken } from "./carrierRule.ts"
import * as Subject from "./subject.ts"
import { passing } from "./time.ts"
import { refusing } from "./transports.ts"

/*
 * Varies the given facts at random, within the line's schema. A price that is right for one person can break a rule for
 * the next.
 */

/**
 * How many applications are drawn. If a mistake affects one application in ten, this many draws miss it with a
 * probability of 1 in 40,000.
 */
const draws = 100
const atOnce = 50
const maxShrinks = 200
/** A fixed seed, so that failures are reproducible. */
const seed = 1
/** The range of dates to draw, in years. It ends with the year in which the case begins. */
const years = 90

type Path = ReadonlyArray<string>

/** A fact in an application that can be varied, and the values that can be drawn for the fact. */
interface FactPlace {
  readonly path: Path
  readonly drawn: Arbitrary.Arbitrary<unknown>
}

/** A fact, and a value that differs from the given value. */
interface Change {
  readonly path: Path
  readonly value: unknown
}

/** A subject with changed facts, and the changes. */
interface ChangedSubject {
  readonly subject: Subject.Subject
  readonly changes: ReadonlyArray<Change>
}

/** A transport that replaces the carrier, and the requests that it could not answer. */
interface StandIn {
  readonly transport: HttpClient.HttpClient
  readonly missing: ReadonlyArray<unknown>
}

/**
 * Makes a check that asks with different facts. Every answer must follow the rules.
 *
 * Nothing is sent to the carrier. A cassette answers each request with the next answer that was recorded for its
 * method, host and path, regardless of its body. Without a cassette or a stand-in, requests are refused, so only prices
 * that the adapter computes itself are checked.
 */
export const offersForOtherFacts = (cassette: Cassette.Cassette | null) =>
  Effect.fnUntraced(function* (subject: Subject.Subject, ownFacts: unknown) {
    const { adapter, line, options } = subject
    const facts = ownFacts ?? line.example
    const standIn = standInFor(adapter, cassette, options)
    const places = placesIn(line.facts_schema, facts, CalendarDay.yearOf(CalendarDay.dayOf(subject.now)))
    const identifying = new Set(line.identifying_paths)
    const varied = places.filter(({ path }) => !identifying.has(starred(path)))
    const property = Effect.fnUntraced(function* (changes: ReadonlyArray<Change>) {
      const { transport, missing } = standIn()
      const { subject: otherSubject } = yield* changed(subject, facts, changes)
      const ask = Subject.askOf(otherSubject, `facts-${Hash.string(canonical(changes))}`)
      const polling = Effect.provideService(Subject.polled(otherSubject, ask), CarrierTransport, transport)
      yield* Effect.catch(polling, (error) => (missing.length > 0 ? Effect.void : Effect.fail(error)))
      return true
    })
    const result = yield* passing(
      Arbitrary.checkEffect(changesOf(varied), property, {
        runs: draws,
        concurrency: atOnce,
        maxShrinks,
        seed
        // Do not log the failures of refused asks, because there can be a hundred of them.
      }).pipe(Effect.provideService(References.CurrentLoggers, new Set()))
    )
    if (result._tag !== "Falsified" || result.failure._tag !== "PropertyError") return
    const { changes: shrunk } = yield* changed(subject, facts, result.shrunkInput)
    const { broken_rules, message } = result.failure.error
    yield* broken(`${factsOf(shrunk)} ${message.split("\n")[0]}`, broken_rules)
  })

/** The values were drawn at random, so they identify nobody and the message may show them. */
const factsOf = (changes: ReadonlyArray<Change>): string =>
  changes.length === 0
    ? "With the given facts:"
    : `With other facts (${changes.map(({ path, value }) => `${path.join(".")}: ${JSON.stringify(value)}`).join(", ")}):`

const standInFor =
  (adapter: CarrierAdapter, cassette: Cassette.Cassette | null, { connection, transport }: Subject.Options) =>
  (): StandIn =>
    cassette === null
      ? { transport: transport ?? refusing, missing: [] }
      : Cassette.replay(cassette, adapter, connection, { compares: "places" })

/** Draws new values for some of these facts. Shrinks to fewer facts. */
const changesOf = (places: ReadonlyArray<FactPlace>): Arbitrary.Arbitrary<ReadonlyArray<Change>> =>
  Arbitrary.all(
    places.map(({ path, drawn }) =>
      Arbitrary.map(Arbitrary.all([flags, drawn]), ([is_changed, value]) => (is_changed ? [{ path, value }] : []))
    )
  ).pipe(Arbitrary.map((changes) => changes.flat()))

const flags = Arbitrary.schema(Schema.Boolean)

/**
 * The subject with as many of these changes as still lead to an ask. The other changes contradict another fact, the
 * calendar or the law, or lead to a state that the carrier does not serve.
 */
const changed = (
  subject: Subject.Subject,
  startFacts: unknown,
  changes: ReadonlyArray<Change>
): Effect.Effect<ChangedSubject> => {
  const { adapter, line, options } = subject
  let result: ChangedSubject = { subject, changes: [] }
  const add = Effect.fnUntraced(function* (moreChanges: ReadonlyArray<Change>): Effect.fn.Return<void> {
    if (moreChanges.length === 0) return
    const allChanges = [...result.changes, ...moreChanges]
    const facts = allChanges.reduce((changedFacts, { path, value }) => set(changedFacts, path, value), startFacts)
    const changedSubject = yield* Effect.option(Subject.subjectOf(adapter, line.name, facts, options))
    if (Option.isSome(changedSubject)) {
      result = { subject: changedSubject.value, changes: allChanges }
    } else if (moreChanges.length > 1) {
      const middle = Math.ceil(moreChanges.length / 2)
      yield* add(moreChanges.slice(0, middle))
      yield* add(moreChanges.slice(middle))
    }
  })
  return Effect.map(add(changes), () => result)
}

const set = (value: unknown, [name, ...rest]: Path, fact: unknown): unknown => {
  if (name === undefined) return fact
  if (Array.isArray(value)) return value.map((item, index) => (`${index}` === name ? set(item, rest, fact) : item))
  const members = Predicate.isObject(value) ? value : {}
  return { ...members, [name]: set(Reflect.get(members, name), rest, fact) }
}

const starred = (path: Path): string => path.map((name) => (/^\d+$/.test(name) ? "*" : name)).join(".")

/** The facts that can be varied: facts in existing list items, and facts that were not sent. */
const placesIn = (schema: unknown, value: unknown, year: number, path: Path = []): ReadonlyArray<FactPlace> => {
  if (!Predicate.isObject(schema)) return []
  if (Predicate.isObject(schema.properties)) {
    return Object.entries(schema.properties).flatMap(([name, member]) =>
      placesIn(member, Predicate.isObject(value) ? value[name] : undefined, year, [...path, name])
    )
  }
  if (schema.items !== undefined) {
    const items = Array.isArray(value) ? value : []
    return items.flatMap((item: unknown, index) => placesIn(schema.items, item, year, [...path, `${index}`]))
  }
  return Option.match(drawnFrom(schema, year), { onNone: () => [], onSome: (drawn) => [{ path, drawn }] })
}

/** The values that a fact's JSON Schema accepts; `None` if the schema is too vague. */
const drawnFrom = (schema: object, year: number): Option.Option<Arbitrary.Arbitrary<unknown>> => {
  if (Predicate.hasProperty(schema, "format")) {
    return schema.format === "date" ? Option.some(dayUpTo(year)) : Option.none()
  }
  const { maximum, minimum, multipleOf: step = 1 } = Option.getOrElse(asNumber(schema), () => noNumber)
  if (minimum !== undefined && maximum !== undefined) {
    const steps = Schema.Int.check(Schema.isBetween({ minimum: Math.ceil(minimum / step), maximum: maximum / step }))
    return Option.some(Arbitrary.map(Arbitrary.schema(steps), (count) => count * step))
  }
  return imported(schema)
}

const noNumber = { minimum: undefined, maximum: undefined, multipleOf: undefined }
const asNumber = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.Literal("integer"),
    minimum: Schema.optionalKey(Schema.Finite),
    maximum: Schema.optionalKey(Schema.Finite),
    multipleOf: Schema.optionalKey(Schema.Finite)
  })
)

const dayUpTo = (year: number): Arbitrary.Arbitrary<unknown> =>
  Arbitrary.map(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: -365 * years, maximum: 0 }))), (days) =>
    CalendarDay.addDays(`${year}-12-31`, days)
  )

/** Returns `None` if Effect cannot read the schema. Such a fact is not varied. */
const imported = Option.liftThrowable((schema: object) =>
  Arbitrary.schema(
    SchemaRepresentation.fromJsonSchemaDocument(JsonSchema.fromSchemaDraft2020_12({ ...schema }), { patterns: "apply" })
  )
)
