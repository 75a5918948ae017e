import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import * as ApiKey from "../access/ApiKey.ts"
import * as ChecksummedSecret from "../access/ChecksummedSecret.ts"
import { Seal } from "../access/sealing/Seal.ts"
import * as Change from "../storage/Change.ts"
import {
  commit,
  directoryWorkspace,
  readAll,
  readOne,
  retryOnConflict,
  Storage,
  type StorageUnavailable
} from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, OperatorTokenId, type OrganizationId } from "../wire/Ids.ts"
import type { Operator } from "./OperatorToken.ts"
import * as OperatorToken from "./OperatorToken.ts"

/** A new token. The token cannot be shown again later. */
export interface IssuedToken {
  readonly token: string
  readonly details: OperatorToken.OperatorToken
}

/** The options of a new token: who uses it, and what it allows. */
export interface TokenOptions {
  /** Who or what uses the token: 1 to 100 characters. The audit log shows it. */
  readonly name: string
  readonly scopes: ReadonlyArray<OperatorToken.OperatorScope>
  /** The only organization that the token can access; by default all organizations. */
  readonly organization_id?: OrganizationId | undefined
  /** How many days the token is valid: from 1 to 365; 90 by default. */
  readonly expires_in_days?: number | undefined
}

/**
 * The rights of an operator who does not use one of the service's own tokens: the embedding program, or the holder of
 * an OAuth issuer's token.
 */
export interface OperatorGrant extends Omit<Operator, "token_id"> {
  /** Identifies the person or program. Only a hash of the subject is stored. */
  readonly subject: string
}

/**
 * The length of an identifier without its prefix. Hexadecimal digits are valid identifier characters, so the start of a
 * hash can serve as an identifier.
 */
const idCharacters = 26

/** Creates, lists and revokes operators' tokens, and authenticates operators by their tokens. */
export class OperatorTokens extends Context.Service<
  OperatorTokens,
  {
    /**
     * Creates a token. Fails with `not_found` if the organization does not exist, and with `invalid_input` if an option
     * is wrong.
     */
    readonly create: (
      options: TokenOptions
    ) => Effect.Effect<
      IssuedToken,
      ApiError.ApiError<"not_found"> | ApiError.ApiError<"invalid_input"> | StorageUnavailable
    >
    /**
     * Lists all tokens, oldest first, including expired and revoked tokens. The list contains metadata, never the
     * tokens themselves.
     */
    readonly list: Effect.Effect<ReadonlyArray<OperatorToken.OperatorToken>, StorageUnavailable>
    /**
     * Revokes a token. Every host refuses the next call with the token. Revoking a token a second time changes nothing.
     */
    readonly revoke: (
      id: OperatorTokenId
    ) => Effect.Effect<OperatorToken.OperatorToken, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * Returns the operator for a grant that the host has verified. The operator's ID is a hash of the subject in the
     * format of a token ID. With this ID, the audit log can list all calls by the subject.
     */
    readonly admit: (grant: OperatorGrant) => Effect.Effect<Operator>
    /**
     * Returns the operator with this token. Fails with `authentication_failed` if the token is mistyped, unknown,
     * expired or revoked.
     */
    readonly authenticate: (
      token: string
    ) => Effect.Effect<Operator, ApiError.ApiError<"authentication_failed"> | StorageUnavailable>
  }
>()("@quotewire/core/OperatorTokens") {
  static readonly layer: Layer.Layer<OperatorTokens, never, Storage | Seal | Ids | SecureRandom.SecureRandom> =
    Layer.effect(
      OperatorTokens,
      Effect.gen(function* () {
        const storage = yield* Storage
        const seal = yield* Seal
        const create = yield* makeCreate

        const tokenFields = {
          workspace_id: directoryWorkspace,
          kind: OperatorToken.kind.name,
          order: "oldest",
          limit: 100
        } as const

        const revoke = Effect.fn("OperatorTokens.revoke")(function* (id: OperatorTokenId) {
          const [record] = yield* readAll(storage, { ...tokenFields, labels: [OperatorToken.labelOf(id)] })
          if (record === undefined) return yield* ApiError.make("not_found")
          const token = OperatorToken.kind.value(record)
          if (token.revoked_at !== null) return token
          const revoked = { ...token, revoked_at: yield* Clock.currentTimeMillis }
          const writes = [OperatorToken.toStored(record.id, record.version + 1, revoked)]
          yield* commit(storage, Change.make(directoryWorkspace, { writes }))
          return revoked
        })

        const authenticate = Effect.fn("OperatorTokens.authenticate")(function* (token: string) {
          if (!OperatorToken.isWellFormed(token)) return yield* refused
          const operatorToken = yield* readOne(storage, OperatorToken.kind, directoryWorkspace, yield* seal.hash(token))
          if (operatorToken === null || !OperatorToken.isValid(operatorToken, yield* Clock.currentTimeMillis))
            return yield* refused
          const { id: token_id, name, organization_id, scopes } = operatorToken
          return { token_id, name, scopes, organization_id } satisfies Operator
        })

        const admit = ({ subject, ...grant }: OperatorGrant) =>
          Effect.map(
            seal.hash(subject),
            (hash): Operator => ({
              ...grant,
              name: grant.name.slice(0, OperatorToken.maxName),
              token_id: OperatorTokenId.make(`opt_${hash.slice(0, idCharacters)}`)
            })
          )

        const list = Effect.map(readAll(storage, tokenFields), (records) =>
          records.map(OperatorToken.kind.value).toSorted((a, b) => (a.id < b.id ? -1 : 1))
        )
        return OperatorTokens.of({ create, admit, list, revoke: (id) => retryOnConflict(revoke(id)), authenticate })
      })
    )
}

const makeCreate = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal
  const ids = yield* Ids
  const random = yield* SecureRandom.SecureRandom

  return Effect.fn("OperatorTokens.create")(function* (options: TokenOptions) {
    const mistakes = wrongOptions(options)
    if (mistakes.length > 0) return yield* ApiError.invalidInput(mistakes)
    const { expires_in_days, name, organization_id, scopes } = options
    if (organization_id !== undefined && (yield* ApiKey.findOrganization(storage, organization_id)) === null) {
      return yield* ApiError.make("not_found")
    }
    const token = OperatorToken.write(yield* random.randomBytes(ChecksummedSecret.randomBytes))
    const now = yield* Clock.currentTimeMillis
    const details: OperatorToken.OperatorToken = {
      id: ids.operator_token(),
      name,
      scopes: OperatorToken.OperatorScope.literals.filter((scope) => scopes.includes(scope)),
      organization_id: organization_id ?? null,
      created_at: now,
      expires_at: OperatorToken.expiryOf(now, expires_in_days),
      revoked_at: null
    }
    const writes = [OperatorToken.toStored(yield* seal.hash(token), 1, details)]
    yield* Effect.catchTag(
      commit(storage, Change.make(directoryWorkspace, { writes })),
      "VersionConflict",
      // The record is new, so its commit cannot conflict.
      (conflict) => Effect.die(conflict)
    )
    return { token, details }
  })
})

/** The error for a call without a valid token. */
export const refused = Effect.fail(
  ApiError.make("authentication_failed", { message: "The operator's token is missing or invalid." })
)

const wrongOptions = ({ expires_in_days = OperatorToken.defaultDays, name, scopes }: TokenOptions) => [
  ...(name.trim() === "" || name.length > OperatorToken.maxName
    ? [{ path: "name", message: `Must be text of 1 to ${OperatorToken.maxName} characters.` }]
    : []),
  ...(scopes.length === 0
    ? [
        {
          path: "scopes",
          message: "Must name at least one scope.",
          allowed_values: OperatorToken.OperatorScope.literals
        }
      ]
    : []),
  ...(Number.isInteger(expires_in_days) && expires_in_days >= 1 && expires_in_days <= OperatorToken.maxDays
    ? []
    : [{ path: "expires_in_days", message: `Must be a whole number from 1 to ${OperatorToken.maxDays}.` }])
]
