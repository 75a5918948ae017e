import { Effect, Schema } from "effect"
import { prefixes, QuoteId, QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import type { Seal } from "./Seal.ts"
import * as KeyedHash from "./Seal.ts"

const bodyCharacters = 26

/** Opaque signed tokens that stand for a workspace's ids. A token is derived from its id, so it is never stored. */
interface Tokens<Id extends string> {
  readonly write: (seal: Seal["Service"], workspace_id: WorkspaceId, id: Id) => Effect.Effect<string>
  /** Whether text has the form of a token. It may still be forged. */
  readonly isLike: (text: string) => boolean
  /** The id in a token; null if this service did not write it. */
  readonly read: (
    seal: Seal["Service"],
    token: string
  ) => Effect.Effect<{ readonly workspace_id: WorkspaceId; readonly id: Id } | null>
}

const isWorkspaceId = Schema.is(WorkspaceId)

const tokens = <Id extends string>(
  purpose: string,
  prefix: string,
  isId: (text: unknown) => text is Id
): Tokens<Id> => {
  const sign = (workspaceId: WorkspaceId, id: Id) => `${workspaceId} ${id}`
  const namesIn = (text: string) => {
    const workspace_id = `${prefixes.workspace}_${text.slice(0, bodyCharacters)}`
    const id = `${prefix}_${text.slice(bodyCharacters, 2 * bodyCharacters)}`
    return isWorkspaceId(workspace_id) && isId(id) ? { workspace_id, id } : null
  }
  return {
    isLike: (text) => namesIn(text) !== null,
    write: (seal, workspaceId, id) =>
      Effect.map(seal.mac(purpose, sign(workspaceId, id)), (mac) => {
        const names = workspaceId.slice(-bodyCharacters) + id.slice(-bodyCharacters)
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

/** The token of `/go/<token>`, which leads to a quote's carrier. It contains nothing about a person. */
export const goTokens: Tokens<QuoteId> = tokens("go", prefixes.quote, Schema.is(QuoteId))

/**
 * The token that identifies an ask to its carrier: the idempotency key of its retries, and the reference in callbacks.
 */
export const askTokens = (carrierId: string): Tokens<QuoteRequestId> =>
  tokens(`ask ${carrierId}`, prefixes.quote_request, Schema.is(QuoteRequestId))
