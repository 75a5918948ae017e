import { Effect, Option, Result, Schema } from "effect"
import type { Mac } from "effect/crypto"
import { Hex } from "effect/encoding"
import { type CarrierCallback, CarrierReply } from "./Carrier.ts"

/*
 * Callbacks of fictional carriers: a JSON body, and a header with the HMAC-SHA-256 of its raw bytes.
 */

/** The header with the signature, in lower-case hex. */
export const signatureHeader = "sandbox-signature"

const Body = Schema.fromJsonString(Schema.Struct({ carrier: Schema.String, ref: Schema.String, reply: CarrierReply }))
const decodeBody = Schema.decodeUnknownOption(Body)
const encodeBody = Schema.encodeSync(Body)

/** Writes and reads signed callbacks. */
export interface SignedCallbacks {
  /** Writes the callback with which a carrier answers an ask. `ref` is the reference from its `pending` reply. */
  readonly write: (carrier_id: string, ref: string, reply: CarrierReply) => Effect.Effect<CarrierCallback>
  /** Reads the content of a callback; null if the signature, carrier or format is wrong. */
  readonly read: (
    carrier_id: string,
    callback: CarrierCallback
  ) => Effect.Effect<{ readonly ref: string; readonly reply: CarrierReply } | null>
}

/** Makes signed callbacks with a key. */
export const signedCallbacks = (mac: Mac.Mac["Service"], key: Mac.Key): SignedCallbacks => ({
  write: Effect.fnUntraced(function* (carrier, ref, reply) {
    const body = new TextEncoder().encode(encodeBody({ carrier, ref, reply }))
    const tag = yield* Effect.orDie(mac.sign(key, body))
    return { headers: { "content-type": "application/json", [signatureHeader]: Hex.encode(tag) }, body }
  }),
  read: Effect.fnUntraced(function* (carrierId, { headers, body }) {
    const signature = headers[signatureHeader]
    const tag = Hex.decode(typeof signature === "string" ? signature : "")
    if (Result.isFailure(tag) || !(yield* Effect.orDie(mac.verify(key, tag.success, body)))) return null
    const message = Option.getOrNull(decodeBody(new TextDecoder().decode(body)))
    // All fictional carriers share the key, so each callback names its carrier.
    return message?.carrier === carrierId ? { ref: message.ref, reply: message.reply } : null
  })
})
