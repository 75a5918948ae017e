import { Clock, Effect, Layer, Schema } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import { AnyObject, checker } from "../wire/Argument.ts"
import { type Received, type Verification, verify } from "./Signature.ts"

/** A received delivery. The runtime's clock is used unless you pass `now_seconds`. */
export interface ReceivedWebhook extends Omit<Received, "now_seconds"> {
  readonly now_seconds?: number
}

const webCrypto = Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))

/**
 * Verifies a webhook's signature and timestamp, on any runtime that has Web Crypto.
 *
 * The promise never rejects because of what was received: the result's `reason` says what is wrong. If `ok` is false,
 * respond with 400 and do nothing else. The promise rejects with an `InvalidArgument` only if `secrets` is not a list
 * of strings, or `headers` is not an object.
 */
export const verifyWebhook = (received: ReceivedWebhook): Promise<Verification> => Effect.runPromise(check(received))

const checked = checker("verifyWebhook", Schema.Struct({ secrets: Schema.Array(Schema.String), headers: AnyObject }))

const check = Effect.fnUntraced(function* (webhook: ReceivedWebhook) {
  const received = checked(webhook)
  const mac = yield* Mac.Mac
  const now_seconds = received.now_seconds ?? Math.floor((yield* Clock.currentTimeMillis) / 1_000)
  return yield* verify(mac, { ...received, now_seconds })
}, Effect.provide(webCrypto))
