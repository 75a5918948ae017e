import { Predicate, Result, Schema } from "effect"
import { reader } from "../../wire/Input.ts"
import type { Environment } from "../Caller.ts"

/** The kinds of cost. Each has its own limits (api.md, Rate limits). */
export const costKinds = ["start", "read", "other"] as const
export type CostKind = (typeof costKinds)[number]

/** A call's cost, in units of each kind, such as `{ read: 2 }`. Omitted kinds cost nothing. */
export type Cost = { readonly [K in CostKind]?: number }

/** How many units are allowed in a minute and in a day; null for no limit. Limits are at least 1. */
export interface Limit {
  readonly per_minute: number | null
  readonly per_day: number | null
}

/** The rate limits of a host. */
export interface Limits {
  readonly keys: { readonly [E in Environment]: { readonly [K in CostKind]: Limit } }
  /** An organization's limits are this many times the limits of one key, in each environment. */
  readonly organization_factor: number
  /** The limits of each address that calls without a key. */
  readonly keyless: { readonly [K in CostKind]: Limit }
  /** How many refused keys each address may send. */
  readonly failed_authentication: Limit
  /** The limit for each operator's token. It covers all calls with the token; `operatorLimit` by default. */
  readonly operator?: Limit
  /** An organization's limit for webhook tests and replays. Both environments share it. */
  readonly tests_and_replays: Limit
}

const limit = (per_minute: number, per_day: number | null = null): Limit => ({ per_minute, per_day })

/** The default limit for each operator's token. */
export const operatorLimit: Limit = limit(600)

/** The limits that the API contract states. */
export const standardLimits: Required<Limits> = {
  keys: {
    live: { start: limit(60), read: limit(600), other: limit(120) },
    sandbox: { start: limit(60, 2_000), read: limit(600, 50_000), other: limit(120, 10_000) }
  },
  organization_factor: 5,
  keyless: { start: limit(10), read: limit(120), other: limit(120) },
  failed_authentication: limit(60),
  operator: operatorLimit,
  tests_and_replays: limit(60)
}

const unlimited: Limit = { per_minute: null, per_day: null }
const nothingLimited = { start: unlimited, read: unlimited, other: unlimited }

/** No limits, not even on webhook tests and replays. Use this for load tests. */
export const noLimits: Limits = {
  keys: { live: nothingLimited, sandbox: nothingLimited },
  organization_factor: 1,
  keyless: nothingLimited,
  failed_authentication: unlimited,
  operator: unlimited,
  tests_and_replays: unlimited
}

const Units = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }, { expected: "a whole number of at least 1, or null" })
)
const LimitChange = Schema.Struct({
  per_minute: Schema.optionalKey(Schema.NullOr(Units)),
  per_day: Schema.optionalKey(Schema.NullOr(Units))
})
const KindsChange = Schema.Struct({
  start: Schema.optionalKey(LimitChange),
  read: Schema.optionalKey(LimitChange),
  other: Schema.optionalKey(LimitChange)
})

const WholeLimit = Schema.Struct({ per_minute: Schema.NullOr(Units), per_day: Schema.NullOr(Units) })
const Kinds = Schema.Struct({ start: WholeLimit, read: WholeLimit, other: WholeLimit })

/**
 * Whether a value has the shape of `Limits`. The value may come from a JavaScript program, which no compiler checks.
 */
export const isLimits: (value: unknown) => value is Limits = Schema.is(
  Schema.Struct({
    keys: Schema.Struct({ live: Kinds, sandbox: Kinds }),
    organization_factor: Units,
    keyless: Kinds,
    failed_authentication: WholeLimit,
    operator: Schema.optionalKey(WholeLimit),
    tests_and_replays: WholeLimit
  })
)

/** The schema of a setting that changes some of the standard limits. */
const LimitsChange = Schema.Struct({
  keys: Schema.optionalKey(
    Schema.Struct({ live: Schema.optionalKey(KindsChange), sandbox: Schema.optionalKey(KindsChange) })
  ),
  organization_factor: Schema.optionalKey(Units),
  keyless: Schema.optionalKey(KindsChange),
  failed_authentication: Schema.optionalKey(LimitChange),
  operator: Schema.optionalKey(LimitChange),
  tests_and_replays: Schema.optionalKey(LimitChange)
})

const readChange = reader(LimitsChange)

/**
 * Parses a setting such as `{"keys":{"live":{"start":{"per_minute":600}}}}`. Omitted limits keep their standard values.
 *
 * On failure, returns a phrase that names the wrong field without repeating the setting's text.
 */
export const readLimits = (text: string): Result.Result<Limits, string> => {
  const parsed = Result.try({ try: (): unknown => JSON.parse(text), catch: () => "this is not valid JSON" })
  return Result.flatMap(parsed, (json) =>
    Result.mapBoth(readChange(json), {
      onSuccess: (change) => changed(standardLimits, change),
      onFailure: ({ field_errors }) =>
        (field_errors ?? []).map(({ path, message }) => wrongAt(path.split("."), message)).join(" ")
    })
  )
}

/**
 * Describes an error at a path. If a name in the path is unknown, lists the known names instead of repeating the
 * unknown name.
 */
const wrongAt = (path: ReadonlyArray<string>, message: string): string => {
  let place: unknown = standardLimits
  for (const [index, name] of path.entries()) {
    if (!Predicate.isReadonlyObject(place)) break
    if (!Object.hasOwn(place, name)) {
      const parent = path.slice(0, index).join(".")
      if (name === "") return `top level: ${message}`
      return `${parent === "" ? "top level" : parent}: Every field must be one of ${Object.keys(place).join(", ")}.`
    }
    place = place[name]
  }
  return `${path.join(".")}: ${message}`
}

type Kinds = Limits["keyless"]

const changedKinds = (kinds: Kinds, change: typeof KindsChange.Type = {}): Kinds => ({
  start: { ...kinds.start, ...change.start },
  read: { ...kinds.read, ...change.read },
  other: { ...kinds.other, ...change.other }
})

const changed = (limits: Limits, change: typeof LimitsChange.Type): Limits => ({
  keys: {
    live: changedKinds(limits.keys.live, change.keys?.live),
    sandbox: changedKinds(limits.keys.sandbox, change.keys?.sandbox)
  },
  organization_factor: change.organization_factor ?? limits.organization_factor,
  keyless: changedKinds(limits.keyless, change.keyless),
  failed_authentication: { ...limits.failed_authentication, ...change.failed_authentication },
  operator: { ...(limits.operator ?? operatorLimit), ...change.operator },
  tests_and_replays: { ...limits.tests_and_replays, ...change.tests_and_replays }
})
