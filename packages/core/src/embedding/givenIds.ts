import { Effect, Schema } from "effect"
import * as ApiError from "../wire/ApiError.ts"
import { EventId, KeyId, OperatorTokenId, OrganizationId } from "../wire/Ids.ts"

/** Reads an ID from text. Other text fails with `not_found`, like an unknown ID. */
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
