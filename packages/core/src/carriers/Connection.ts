import { Result, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { FieldError } from "../wire/FieldError.ts"
import { OrganizationId } from "../wire/Ids.ts"
import { decoder, textUpTo } from "../wire/Input.ts"
import type { CarrierAdapter, ConnectionFields, ConnectionValues } from "./Carrier.ts"
import * as SecretFinder from "./secrets/SecretFinder.ts"

/** Identifies a connection by its organization, carrier and environment. */
export interface ConnectionPlace {
  readonly organization_id: OrganizationId
  readonly environment: Environment
  /** The ID of the carrier, such as `naic:12345`. */
  readonly carrier_id: string
}

/**
 * The result of a connection test. `failed`: the carrier refused the values, could not be reached, or the connection
 * cannot be used. `not_tested`: the carrier's adapter has no test.
 */
export interface ConnectionTestResult {
  readonly outcome: "ok" | "failed" | "not_tested"
  /** A sentence for the operator. It contains none of the values. Null if the connection works. */
  readonly message: string | null
}

/** The last test of a connection. */
export const LastTest = Schema.Struct({
  at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  outcome: Schema.Literals(["ok", "failed"]),
  message: Schema.NullOr(Schema.String)
})
export type LastTest = typeof LastTest.Type

/** A connection as stored: the values that an organization set for a carrier, and its last test. */
export const Connection = Schema.Struct({
  organization_id: OrganizationId,
  environment: Environment,
  carrier_id: Schema.String,
  /** A removed connection keeps its record, without values. */
  status: Schema.Literals(["set", "removed"]),
  values: Schema.Record(Schema.String, Schema.String),
  set_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  last_test: Schema.NullOr(LastTest)
})
export type Connection = typeof Connection.Type

/**
 * The record kind for connections. The records are in the directory, keyed by `ConnectionPlace` and listed by
 * organization.
 */
export const kind = Kind.make({
  name: "connection",
  schema: Connection,
  survives_reset: true,
  sealed: true,
  listing: ({ organization_id, status }) => ({ parent: organization_id, status })
})

/** Returns only the fields that identify a connection. */
export const placeIn = ({ organization_id, environment, carrier_id }: ConnectionPlace): ConnectionPlace => ({
  organization_id,
  environment,
  carrier_id
})

/** The ID of a connection's record. */
export const idOf = ({ organization_id, environment, carrier_id }: ConnectionPlace): string =>
  `${organization_id} ${environment} ${carrier_id}`

/** The adapter of a connection's carrier; undefined if the carrier is not asked in that environment. */
export const adapterOf = (
  adapters: ReadonlyArray<CarrierAdapter>,
  { carrier_id, environment }: ConnectionPlace
): CarrierAdapter | undefined =>
  adapters.find(({ carrier, environments }) => carrier.id === carrier_id && environments.includes(environment))

/** The maximum length of a value, in characters: enough for a certificate with its chain. */
const maxValue = 8_192

/** Checks the values before they are set. No message repeats a value, or a name that the carrier does not ask for. */
export const check = (
  adapters: ReadonlyArray<CarrierAdapter>,
  { carrier_id, environment, values }: Omit<ConnectionPlace, "organization_id"> & { readonly values: unknown }
): Result.Result<ConnectionValues, ReadonlyArray<FieldError>> => {
  const adapter = adapters.find(({ carrier }) => carrier.id === carrier_id)
  if (adapter?.connection === undefined) {
    const message =
      adapter === undefined ? "Must be the id of one of this program's carriers." : "This carrier needs no connection."
    const connectable = adapters.filter(({ connection }) => connection !== undefined)
    return refused(
      "carrier_id",
      message,
      connectable.map(({ carrier }) => carrier.id)
    )
  }
  if (!adapter.environments.includes(environment)) {
    return refused("environment", "The carrier is not asked in this environment.", adapter.environments)
  }
  return checkValues(adapter.connection, values)
}

const refused = (path: string, message: string, allowed_values: ReadonlyArray<string>) =>
  Result.fail([{ path, message, ...(allowed_values.length > 0 && { allowed_values }) }])

const Value = textUpTo(maxValue, 1)

const checkValues = (
  fields: ConnectionFields,
  values: unknown
): Result.Result<ConnectionValues, ReadonlyArray<FieldError>> => {
  const names = Object.keys(fields)
  const Values = Schema.Struct(Object.fromEntries(names.map((name) => [name, Value])))
  const decoded = decoder(Schema.Struct({ values: Values }))({ values })
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success.values)
  // An unknown name may be a value that was put in the wrong place, so it is not repeated.
  const knownPaths = new Set(["values", ...names.map((name) => `values.${name}`)])
  const { found, more } = decoded.failure
  const named = found.filter(({ path }) => knownPaths.has(path))
  const isOther = named.length < found.length || more > 0
  const unknownName = {
    path: "values",
    message: "Every name must be a field of the carrier's connection.",
    allowed_values: names
  }
  return Result.fail(isOther ? [...named, unknownName] : named)
}

/** The values for the fields that the carrier currently asks for; null if one of these fields is not set. */
export const valuesFor = (fields: ConnectionFields, values: ConnectionValues): ConnectionValues | null => {
  const entries = Object.keys(fields).flatMap((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    return value === undefined ? [] : [[name, value] as const]
  })
  return entries.length === Object.keys(fields).length ? Object.fromEntries(entries) : null
}

/**
 * Whether text repeats one of a connection's secrets. A value that the carrier does not ask for is treated as a secret.
 */
export const repeatsSecret = (fields: ConnectionFields, values: ConnectionValues, text: string): boolean =>
  Object.entries(values).some(([name, value]) => fields[name] !== "string" && text.includes(value)) ||
  SecretFinder.ofCarrier({ connection: fields }, values).isIn(text)

/** A connection as listed, without its secrets. Times are milliseconds of real time. */
export interface ConnectionSummary extends ConnectionPlace {
  /**
   * `usable`: the connection is used for asks. `incomplete`: the carrier now asks for a field that is not set.
   * `unreadable`: the connection is sealed with a key that this process lacks, or it was altered. `unused`: no carrier
   * in this program needs a connection like this.
   *
   * Without a usable connection the carrier is not asked, and the reason is `not_appointed`.
   */
  readonly state: "usable" | "incomplete" | "unreadable" | "unused"
  /** The values by name: a `string` is shown, a `secret` is null. Empty if the connection is unreadable. */
  readonly values: Readonly<Record<string, string | null>>
  readonly set_at: number
  /** When the connection was last tested, and the result; null if it has not been tested since it was set. */
  readonly last_test: LastTest | null
}

/** The listed form of a connection. */
export const summaryOf = (connection: Connection, adapters: ReadonlyArray<CarrierAdapter>): ConnectionSummary => {
  const { values, set_at, last_test } = connection
  const fields = adapterOf(adapters, connection)?.connection
  const entries = Object.entries(values).map(([name, value]) => [name, fields?.[name] === "string" ? value : null])
  return {
    ...placeIn(connection),
    state: fields === undefined ? "unused" : valuesFor(fields, values) === null ? "incomplete" : "usable",
    values: Object.fromEntries(entries),
    set_at,
    last_test
  }
}

/**
 * Reads a connection's organization, carrier and environment from its record's ID; null if the ID is not a
 * connection's.
 */
export const placeOfId = (id: string): ConnectionPlace | null => {
  const [organization_id, environment, ...carrier_id] = id.split(" ")
  return isOrganizationId(organization_id) && isEnvironment(environment)
    ? { organization_id, environment, carrier_id: carrier_id.join(" ") }
    : null
}

/** The listed form of a connection that cannot be opened. It contains only what is known without the body. */
export const unreadableSummary = ({ id, updated_at }: StoredRecord): ConnectionSummary | null => {
  const place = placeOfId(id)
  return place === null ? null : { ...place, state: "unreadable", values: {}, set_at: updated_at, last_test: null }
}

const isOrganizationId = Schema.is(OrganizationId)
const isEnvironment = Schema.is(Environment)
