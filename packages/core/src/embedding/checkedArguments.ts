import { Effect, Schema } from "effect"
import { OrganizationName } from "../access/ApiKey.ts"
import { Environment, KeyKind } from "../access/Caller.ts"
import { type CheckRules, mistakesOf } from "../client/InvalidArgument.ts"
import { maxName, OperatorScope } from "../operators/OperatorToken.ts"
import * as ApiError from "../wire/ApiError.ts"
import { AnyObject, Callable, checker, mistaken } from "../wire/Argument.ts"
import { EventId, KeyId, OperatorTokenId, OrganizationId } from "../wire/Ids.ts"
import { textUpTo } from "../wire/Input.ts"

/* Checks, reads and copies the arguments that a program passes to the methods of an embedded service. */

const connection = { organization_id: Schema.String, environment: Environment, carrier_id: Schema.String }
const Connection = Schema.Struct(connection)
const ParkedEvent = Schema.Struct({
  organization_id: Schema.String,
  environment: Environment,
  event_id: Schema.String
})

export const createOrganization = checker("createOrganization", Schema.Struct({ name: OrganizationName }))
export const createKey = checker(
  "createKey",
  Schema.Struct({ organization_id: Schema.String, environment: Environment, kind: KeyKind })
)
const Scopes = Schema.Array(OperatorScope)
export const createToken = checker(
  "operators.createToken",
  Schema.Struct({
    name: Schema.String,
    scopes: Scopes,
    organization_id: Schema.optionalKey(Schema.String),
    expires_in_days: Schema.optionalKey(Schema.Number)
  })
)
export const operator = checker(
  "operators.as",
  Schema.Struct({
    name: textUpTo(maxName, 1),
    scopes: Schema.optionalKey(Scopes),
    organization_id: Schema.optionalKey(Schema.String)
  })
)
export const setConnection = checker("setConnection", Schema.Struct({ ...connection, values: Schema.Unknown }))
export const testConnection = checker("testConnection", Connection)
export const removeConnection = checker("removeConnection", Connection)
export const retryParkedEvent = checker("retryParkedEvent", ParkedEvent)
export const dropParkedEvent = checker("dropParkedEvent", ParkedEvent)
export const carrierCallback = checker(
  "carrierCallback",
  Schema.Struct({
    headers: AnyObject,
    body: Schema.Uint8Array.annotate({ message: "Must be the raw bytes of the body." })
  })
)
export const carrierStatus = checker("carrierStatus")
export const resetCarrier = checker(
  "resetCarrier",
  Schema.Struct({
    carrier_id: Schema.String,
    line: Schema.optionalKey(Schema.String),
    environment: Schema.optionalKey(Environment),
    organization_id: Schema.optionalKey(Schema.String)
  })
)
export const rotateSealKeys = checker(
  "rotateSealKeys",
  Schema.Struct({ on_progress: Schema.optionalKey(Schema.UndefinedOr(Callable)) })
)
export const timeline = checker("timeline")
export const listParkedEvents = checker("listParkedEvents")

/** Reads an ID from text. Text that is not an ID fails with `not_found`, like an unknown ID. */
const idOf =
  <Id>(schema: Schema.Decoder<Id>) =>
  (text: string): Effect.Effect<Id, ApiError.ApiError<"not_found">> =>
    Effect.mapError(Schema.decodeUnknownEffect(schema)(text), () => ApiError.make("not_found"))

/** Reads the ID of an organization. */
export const organizationId = idOf(OrganizationId)
/** Reads the ID of a key. */
export const keyId = idOf(KeyId)
/** Reads the ID of an operator's token. */
export const operatorTokenId = idOf(OperatorTokenId)
/** Reads the ID of an event. */
export const eventId = idOf(EventId)

/**
 * Copies an input, because the program may change it during the call. An input that cannot be copied is returned
 * unchanged, and the next check refuses it.
 */
export const snapshot = (input: unknown): unknown => {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}

/** Checks a client's options. Throws the same `InvalidArgument` as the service's other methods. */
export const clientOptions: CheckRules = (functionName, rulesOfCall) => {
  const mistakes = mistakesOf(rulesOfCall)
  if (mistakes.length > 0) throw mistaken(functionName, mistakes)
}
