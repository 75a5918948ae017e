import { Effect, Schema } from "effect"
import { prefixes, QuoteId, QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import { areEqual, macOfKey, partsOfMac, type Seal, signatureOf, splitSignature } from "./Seal.ts"

const body_characters = 26

/** Opaque signed tokens for ids of a workspace. A token is derived from its id, so it is never stored. */
interface Tokens<Id extends string> {
  readonly write: (seal: Seal["Service"], workspace_id: WorkspaceId, id: Id) => Effect.Effect<string>
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
  return {
    write: (seal, workspace_id, id) =>
      Effect.map(seal.mac(purpose, sign(workspace_id, id)), (mac) => {
        const names = workspace_id.slice(-body_characters) + id.slice(-body_characters)
        return names + signatureOf(mac) + partsOfMac(mac).key_name
      }),
    read: Effect.fnUntraced(function* (seal, token) {
      const workspace_id = `${prefixes.workspace}_${token.slice(0, body_characters)}`
      const id = `${prefix}_${token.slice(body_characters, 2 * body_characters)}`
      if (!isWorkspaceId(workspace_id) || !isId(id)) return null
      const { signature, rest: key_name } = splitSignature(token.slice(2 * body_characters))
      const mac = yield* seal.macLike(macOfKey(key_name), purpose, sign(workspace_id, id))
      const isOurs = mac !== null && areEqual(signatureOf(mac), signature)
      return isOurs ? { workspace_id, id } : null
    })
  }
}

/** The token of `/go/<token>`, which leads to a quote's carrier. It holds nothing about a person. */
export const goTokens: Tokens<QuoteId> = tokens("go", prefixes.quote, Schema.is(QuoteId))

/** The token that identifies an ask to its carrier: the key of its repeats, and the reference in callbacks. */
export const askTokens = (carrier_id: string): Tokens<QuoteRequestId> =>
  tokens(`ask ${carrier_id}`, prefixes.quote_request, Schema.is(QuoteRequestId))
