import { Effect, Schema } from "effect"
import { prefixes, QuoteId, QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import type { Seal } from "./sealing/Seal.ts"
import * as KeyedHash from "./sealing/Seal.ts"

const bodyCharacters = 26

/** Opaque signed tokens for the IDs in a workspace. A token can be derived from its ID, so it is never stored. */
interface SignedIds<Id extends string> {
  readonly write: (seal: Seal["Service"], workspace_id: WorkspaceId, id: Id) => Effect.Effect<string>
  /** Whether text looks like a token. The token may still be forged. */
  readonly isLike: (text: string) => boolean
  /** Reads the ID in a token; null if this service did not write the token. */
  readonly read: (
    seal: Seal["Service"],
    token: string
  ) => Effect.Effect<{ readonly workspace_id: WorkspaceId; readonly id: Id } | null>
}

const isWorkspaceId = Schema.is(WorkspaceId)

const makeSignedIds = <Id extends string>(
  purpose: string,
  prefix: string,
  isId: (text: unknown) => text is Id
): SignedIds<Id> => {
  const sign = (workspace_id: WorkspaceId, id: Id) => `${workspace_id} ${id}`
  const namesIn = (text: string) => {
    const workspace_id = `${prefixes.workspace}_${text.slice(0, bodyCharacters)}`
    const id = `${prefix}_${text.slice(bodyCharacters, 2 * bodyCharacters)}`
    return isWorkspaceId(workspace_id) && isId(id) ? { workspace_id, id } : null
  }
  return {
    isLike: (text) => namesIn(text) !== null,
    write: (seal, workspace_id, id) =>
      Effect.map(seal.mac(purpose, sign(workspace_id, id)), (mac) => {
        const names = workspace_id.slice(-bodyCharacters) + id.slice(-bodyCharacters)
        return names + KeyedHash.signatureOf(mac) + KeyedHash.partsOfMac(mac).key_name
      }),
    read: Effect.fnUntraced(function* (seal, token) {
      const names = namesIn(token)
      if (names === null) return null
      const { signature, rest: key_name } = KeyedHash.splitSignature(token.slice(2 * bodyCharacters))
      const mac = yield* seal.macLike(KeyedHash.macOfKey(key_name), purpose, sign(names.workspace_id, names.id))
      const isOurs = mac !== null && KeyedHash.areEqual(KeyedHash.signatureOf(mac), signature)
      return isOurs ? names : null
    })
  }
}

/** The tokens in `/go/<token>` links, which lead to a quote's carrier. A token contains nothing about a person. */
export const goTokens: SignedIds<QuoteId> = makeSignedIds("go", prefixes.quote, Schema.is(QuoteId))

/**
 * The tokens that identify an ask to a carrier. A token is the idempotency key of each attempt of its ask, and the
 * reference in the carrier's callbacks.
 */
export const askTokens = (carrierId: string): SignedIds<QuoteRequestId> =>
  makeSignedIds(`ask ${carrierId}`, prefixes.quote_request, Schema.is(QuoteRequestId))
