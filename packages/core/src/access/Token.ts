import { Effect, Schema } from "effect"
import { prefixes, QuoteId, QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import type { Seal } from "./Seal.ts"
import * as KeyedHash from "./Seal.ts"

const body_characters = 26

/** Opaque signed tokens for ids of a workspace. A token is derived from its id, so it is never stored. */
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
  const sign = (workspace_id: WorkspaceId, id: Id) => `${workspace_id} ${id}`
  const namesIn = (text: string) => {
    const workspace_id = `${prefixes.workspace}_${text.slice(0, body_characters)}`
    const id = `${prefix}_${text.slice(body_characters, 2 * body_characters)}`
    return isWorkspaceId(workspace_id) && isId(id) ? { workspace_id, id } : null
  }
  return {
    isLike: (text) => namesIn(text) !== null,
    write: (seal, workspace_id, id) =>
      Effect.map(seal.mac(purpose, sign(workspace_id, id)), (mac) => {
        const names = workspace_id.slice(-body_characters) + id.slice(-body_characters)
        return names + KeyedHash.signatureOf(mac) + KeyedHash.partsOfMac(mac).key_name
      }),
    read: Effect.fnUntraced(function* (seal, token) {
      const names = namesIn(token)
      if (names === null) return null
      const { signature, rest: key_name } = KeyedHash.splitSignature(token.slice(2 * body_characters))
      const mac = yield* seal.macLike(KeyedHash.macOfKey(key_name), purpose, sign(names.workspace_id, names.id))
      const isOurs = mac !== null && KeyedHash.areEqual(KeyedHash.signatureOf(mac), signature)
      return isOurs ? names : null
    })
  }
}

/** The token of `/go/<token>`, which leads to a quote's carrier. It holds nothing about a person. */
export const goTokens: Tokens<QuoteId> = tokens("go", prefixes.quote, Schema.is(QuoteId))

/**
 * The token that identifies an ask to its carrier: the idempotency key of its retries, and the reference in callbacks.
 */
export const askTokens = (carrier_id: string): Tokens<QuoteRequestId> =>
  tokens(`ask ${carrier_id}`, prefixes.quote_request, Schema.is(QuoteRequestId))
