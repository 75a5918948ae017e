import { Effect, Schema } from "effect"
import * as ApiError from "../wire/ApiError.ts"
import { EventId, KeyId, OperatorTokenId, OrganizationId } from "../wire/Ids.ts"

/** Reads an ID from text. Text that is not an ID is refused with `not_found`, as an unknown ID is. */
const idOf =
  <Id>(schema: Schema.Decoder<Id>) =>
  (text: string): Effect.Effect<Id, ApiError.ApiError<"not_found">> =>
    Effect.mapError(Schema.decodeUnknownEffect(schema)(text), () => ApiError.make("not_found"))

/** Reads the id of an organization. */
export const organizationId = idOf(OrganizationId)
/** Reads the id of a key. */
export const keyId = idOf(KeyId)
/** Reads the id of an operator's token. */
export const operatorTokenId = idOf(OperatorTokenId)
/** Reads the id of an event. */
export const eventId = idOf(EventId)
