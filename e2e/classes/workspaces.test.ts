import { assert, describe, it } from "@effect/vitest"
import { Ids, type Quotewire, Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import {
  advance,
  feed,
  read,
  reset,
  runDue,
  smallest,
  start,
  stranger
} from "../../packages/core/test/support/world.ts"
import { create, endpoints as endpointsOf, log } from "../../packages/core/test/webhooks/support.ts"
import { scopedDatabase } from "../../test/support/TestDatabase.ts"

/*
 * Two workspaces in which everything has the same ids: requests, quotes, events, subscriptions, deliveries.
 */

/** Cryptography whose ids start over when a test says so. Secrets and keys stay random. */
const repeatingIds = () => {
  let next = 0
  const generator = Effect.succeed(() => String(next++).padStart(26, "0"))
  const layer: Layer.Layer<Quotewire.Cryptography> = Layer.merge(
    NodeCrypto.layer,
    Layer.succeed(Ids.Generator, generator)
  )
  const from = (number: number) =>
    Effect.sync(() => {
      next = number
    })
  return { layer, from }
}

/** A journey in a workspace: its input differs from others only in the value of the contents. */
const journey = Effect.fnUntraced(function* (key: string, worth: number) {
  const own = { key, idempotency_key: "equal" }
  const subscription = yield* create({ url: urlOf(worth), event_types: ["quote.created"] }, own)
  const application = { ...smallest.renters, coverage: { personal_property_usd: worth } }
  const { id } = yield* start({ request_key: "equal", application }, { key })
  yield* advance(60, own)
  yield* runDue
  const { quotes } = yield* read(id, { key })
  return {
    ids: [id, subscription.id, ...quotes.map((quote) => quote.id), ...(yield* feed({ key })).map((event) => event.id)],
    id,
    secret: subscription.signing_secret,
    subscription_id: subscription.id,
    prices: quotes.map(({ price }) => price.premium?.amount_minor)
  }
})

const urlOf = (worth: number) => `https://hooks.acme.dev/${worth}`

const story = Effect.gen(function* () {
  const ids = repeatingIds()
  const endpoints = endpointsOf()
  const storage = yield* Storage.Storage
  const world = World.World.layer(Layer.succeed(Storage.Storage, storage), {
    cryptography: ids.layer,
    webhooks: endpoints.layer
  })
  const sentTo = (worth: number) => endpoints.sent.filter(({ request }) => request.url === urlOf(worth))
  yield* Effect.gen(function* () {
    const ours = { key: (yield* World.World).keys.sandbox.server }
    const theirs = { key: (yield* stranger).sandbox }
    yield* ids.from(1_000)
    const one = yield* journey(ours.key, 20_000)
    yield* ids.from(1_000)
    const other = yield* journey(theirs.key, 60_000)

    assert.deepStrictEqual(other.ids, one.ids)
    assert.isAbove(one.prices.length, 0)
    assert.notDeepEqual(other.prices, one.prices)
    assert.notStrictEqual(other.secret, one.secret)
    assert.lengthOf(sentTo(20_000), one.prices.length)
    const headers = (name: string, worth: number) => sentTo(worth).map(({ request }) => request.headers[name])
    assert.deepStrictEqual(headers("webhook-id", 60_000), headers("webhook-id", 20_000))
    assert.notDeepEqual(headers("webhook-signature", 60_000), headers("webhook-signature", 20_000))

    yield* reset({ ...theirs, idempotency_key: "reset" })
    assert.deepStrictEqual(yield* feed(theirs), [])
    assert.deepStrictEqual(yield* log(other.subscription_id, theirs), [])
    const { quotes } = yield* read(one.id, ours)
    assert.deepStrictEqual(
      quotes.map(({ price }) => price.premium?.amount_minor),
      one.prices
    )
    assert.lengthOf(yield* log(one.subscription_id, ours), one.prices.length)
    assert.isAbove((yield* feed(ours)).length, one.prices.length)
  }).pipe(Effect.provide(world))
})

const storages = [
  ["memory", MemoryStorage.layer],
  ["PostgreSQL", Layer.unwrap(Effect.map(scopedDatabase, ({ options }) => PgStorage.layer(options)))]
] as const

describe("two workspaces with equal resource IDs", () => {
  for (const [name, storage] of storages) {
    it.live(`have separate quotes, events, deliveries and resets in ${name}`, () =>
      Effect.scoped(Effect.provide(story, storage))
    )
  }
})
