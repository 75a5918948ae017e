import { Schema } from "effect"
import * as ChecksummedSecret from "../access/ChecksummedSecret.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { OperatorTokenId, OrganizationId } from "../wire/Ids.ts"
import { dayMs } from "../wire/Timestamp.ts"

/*
 * Tokens for operators: the people who run the service, and their programs. A token is not an API key, and works only
 * for operators' calls.
 */

/**
 * What a token allows. `read`: see everything except facts about a person. `write`: make changes. `facts`: read what
 * was sent to carriers and what the carriers answered. No scope includes another scope.
 */
export const OperatorScope = Schema.Literals(["read", "write", "facts"])
export type OperatorScope = typeof OperatorScope.Type

/** A token as stored. The token itself is never stored, only its SHA-256 hash, which is the record's ID. */
export const OperatorToken = Schema.Struct({
  id: OperatorTokenId,
  name: Schema.String,
  scopes: Schema.Array(OperatorScope),
  /** The only organization that the token can access; null for all organizations. */
  organization_id: Schema.NullOr(OrganizationId),
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  expires_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  revoked_at: Schema.NullOr(Schema.Int)
})
export type OperatorToken = typeof OperatorToken.Type

/** The authenticated operator who makes a call. */
export interface Operator {
  /**
   * The token's ID. For a token from an OAuth issuer, a hash of the issuer and the subject, in the format of a token
   * ID.
   */
  readonly token_id: OperatorTokenId
  /** The token's name, for the audit log. */
  readonly name: string
  readonly scopes: ReadonlyArray<OperatorScope>
  /** The only organization that the operator can access; null for all organizations. */
  readonly organization_id: OrganizationId | null
}

/** The record kind for tokens, keyed by the token's hash. Lists can also find a token by its ID. */
export const kind = Kind.make({
  name: "operator_token",
  schema: OperatorToken,
  survives_reset: true,
  listing: ({ id }) => ({ labels: [labelOf(id)] })
})

/** The label that finds the token with this ID in a list. */
export const labelOf = (id: OperatorTokenId): string => `token:${id}`

/** The stored record of a token, in the given version. */
export const toStored = (hash: string, version: number, token: OperatorToken): StoredRecord =>
  kind.record(token, {
    id: hash,
    version,
    created_at: token.created_at,
    updated_at: token.revoked_at ?? token.created_at
  })

const prefix = "operator"

/** Writes a token: `operator_<secret><checksum>`. */
export const write = (random: Uint8Array): string => ChecksummedSecret.write(prefix, random)

/** Whether text has the format and the checksum of a token. The token may still not exist. */
export const isWellFormed: (text: string) => boolean = ChecksummedSecret.wellFormed(prefix)

/** The maximum length of a token's name, in characters. */
export const maxName = 100
/** The default lifetime of a token, in days. */
export const defaultDays = 90
/** The maximum lifetime of a token, in days. */
export const maxDays = 365

/** When a token that is created now expires. */
export const expiryOf = (now: number, days: number = defaultDays): number => now + days * dayMs

/** Whether a token is valid at `now`, in real time. */
export const isValid = ({ expires_at, revoked_at }: OperatorToken, now: number): boolean =>
  revoked_at === null && now < expires_at
