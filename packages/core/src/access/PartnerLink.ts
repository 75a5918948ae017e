import { Effect, Schema } from "effect"
import { KeyId, prefixes, QuoteRequestId, SubscriptionId, WorkspaceId } from "../wire/Ids.ts"
import { fromMillis, secondMs, type Timestamp } from "../wire/Timestamp.ts"
import * as Seal from "./sealing/Seal.ts"

/*
 * A partner link is a token that can read one quote request or one subscription until the link expires (api.md, Partner
 * links).
 */

/** The ID of the resource that a link shows. */
export const SharedId = Schema.Union([QuoteRequestId, SubscriptionId])
export type SharedId = typeof SharedId.Type

/** The contents of a link's token. */
export interface PartnerLink {
  readonly workspace_id: WorkspaceId
  readonly shared_id: SharedId
  /** The key that created the link; null if an operator created the link. Revoking the key also revokes the link. */
  readonly made_by: KeyId | null
  /** When the link expires, in whole seconds of real time. */
  readonly ends_at_s: number
}

const prefix = "link_"
const idCharacters = 26
/** Eight base-36 digits can hold expiry times for the next 89,000 years. */
const timeCharacters = 8
const bodyOf = (id: string): string => id.slice(-idCharacters)
const noKey = "-".repeat(idCharacters)

/** The letter that stands for each kind of shared resource in a token, by ID prefix. */
const kinds = { [prefixes.quote_request]: "q", [prefixes.subscription]: "s" } as const

const purpose = "partner_link"

/**
 * Writes a link's token. The token contains only identifiers and an expiry time. It is signed instead of stored, so
 * links take up no storage.
 */
export const write = (seal: Seal.Seal["Service"], link: PartnerLink): Effect.Effect<string> => {
  const kind = kinds[Schema.is(QuoteRequestId)(link.shared_id) ? prefixes.quote_request : prefixes.subscription]
  const time = link.ends_at_s.toString(36).padStart(timeCharacters, "0")
  const maker = link.made_by === null ? noKey : bodyOf(link.made_by)
  const text = `${kind}${bodyOf(link.workspace_id)}${bodyOf(link.shared_id)}${maker}${time}`
  return Effect.map(
    seal.mac(purpose, text),
    (mac) => prefix + text + Seal.signatureOf(mac) + Seal.partsOfMac(mac).key_name
  )
}

/** Whether text looks like a link's token. The token may still be forged. */
export const isLike = (text: string): boolean => text.startsWith(prefix)

const signedCharacters = 1 + 3 * idCharacters + timeCharacters

/** Reads the link from a token; null if this service did not write the token. The link may have expired. */
export const read = Effect.fnUntraced(function* (seal: Seal.Seal["Service"], token: string) {
  const text = token.slice(prefix.length, prefix.length + signedCharacters)
  const { signature, rest: key_name } = Seal.splitSignature(token.slice(prefix.length + signedCharacters))
  const mac = yield* seal.macLike(Seal.macOfKey(key_name), purpose, text)
  if (mac === null || !Seal.areEqual(Seal.signatureOf(mac), signature)) return null
  return parse(text)
})

const parse = (text: string): PartnerLink | null => {
  const part = (index: number) => text.slice(1 + index * idCharacters, 1 + (index + 1) * idCharacters)
  const sharedPrefix = text.startsWith(kinds.qreq) ? prefixes.quote_request : prefixes.subscription
  const maker = part(2)
  const link = {
    workspace_id: `${prefixes.workspace}_${part(0)}`,
    shared_id: `${sharedPrefix}_${part(1)}`,
    made_by: maker === noKey ? null : `${prefixes.key}_${maker}`,
    ends_at_s: Number.parseInt(text.slice(-timeCharacters), 36)
  }
  return isLink(link) ? link : null
}

const isLink = Schema.is(
  Schema.Struct({
    workspace_id: WorkspaceId,
    shared_id: SharedId,
    made_by: Schema.NullOr(KeyId),
    ends_at_s: Schema.Int
  })
)

/** When a link expires. */
export const endOf = ({ ends_at_s }: PartnerLink): Timestamp => fromMillis(ends_at_s * secondMs)

/** Whether a link has expired by `now`, in real time. */
export const hasEnded = ({ ends_at_s }: PartnerLink, now: number): boolean => now >= ends_at_s * secondMs
