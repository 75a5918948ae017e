import { Effect } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { Seal } from "../../access/Seal.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import * as Signature from "../Signature.ts"
import * as Subscription from "./EventSubscription.ts"

const purposeOf = (id: SubscriptionId) => `signing secret ${id}`

/** Makes a secret, sealed for storage. */
export const make = Effect.fnUntraced(function* (
  random: SecureRandom.SecureRandom["Service"],
  seal: Seal["Service"],
  id: SubscriptionId
) {
  return yield* seal.seal(purposeOf(id), Signature.makeSecret(yield* random.randomBytes(Signature.secret_bytes)))
})

/** Opens the newest secret, to show it once. If it cannot be opened, the seal keys in the settings are wrong. */
export const openNewest = Effect.fnUntraced(function* (
  seal: Seal["Service"],
  { id, secrets }: Subscription.KeptSubscription
) {
  const secret = yield* seal.open(purposeOf(id), secrets[0]?.sealed ?? "")
  return secret === null ? yield* Effect.die("A signing secret cannot be opened") : secret
})

/** A cache of opened secrets: every attempt needs them, and opening costs more than signing. */
export type Opened = BoundedMap<string, string>

/** An empty cache. It holds 10,000 secrets. */
export const noneOpened = (): Opened => new BoundedMap(10_000)

/** Opens the secrets that are valid at a moment, newest first. Without any, nothing may be sent. */
export const open = Effect.fnUntraced(function* (
  seal: Seal["Service"],
  subscription: Subscription.KeptSubscription,
  at: number,
  opened: Opened
) {
  const purpose = purposeOf(subscription.id)
  const secrets: Array<string> = []
  for (const { sealed } of Subscription.validSecrets(subscription, at)) {
    const name = `${purpose} ${sealed}`
    const known = opened.get(name)
    const secret = known ?? (yield* seal.open(purpose, sealed))
    if (secret === null) continue
    if (known === undefined) opened.set(name, secret)
    secrets.push(secret)
  }
  return secrets.length === 0 ? yield* Effect.die("No signing secret can be opened") : secrets
})
