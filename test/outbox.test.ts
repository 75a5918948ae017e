import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { embed, Signature } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import { Mac } from "effect/crypto"
import { assert, describe, it } from "vitest"
import { consume, type Recipe, receive } from "../examples/outbox/consume.ts"
import * as drizzle from "../examples/outbox/drizzle.ts"
import * as kysely from "../examples/outbox/kysely.ts"
import { root } from "./support/sources.ts"
import { emptyDatabase, statements } from "./support/TestDatabase.ts"

/*
 * The recipes of the guide on PostgreSQL. Prisma is large, so its recipe runs only where `npm run integrations` has
 * installed it.
 */

const folder = join(root, "examples/outbox")
const tables = readFileSync(join(folder, "tables.sql"), "utf8")
const hasPrisma = existsSync(join(folder, "prisma/generated/client.ts"))
const prismaRecipe = "../examples/outbox/prisma/prisma.ts"

const recipes: ReadonlyArray<{ readonly name: string; readonly load: () => Promise<Pick<typeof drizzle, "connect">> }> =
  [
    { name: "Drizzle", load: async () => drizzle },
    { name: "Kysely", load: async () => kysely },
    ...(hasPrisma ? [{ name: "Prisma", load: () => import(prismaRecipe) }] : [])
  ]

const open = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"

const event = { id: "evt_1", type: "quote.created", resource: { id: "qt_1" } }

/** PostgreSQL stores no NUL, so the handler fails after the event was marked. */
const failing = { ...event, resource: { id: "\u0000" } }

describe.each(recipes)("the outbox recipe for $name", ({ load }) => {
  /** Runs a test on an empty database with the two tables. */
  const withRecipe = async (
    test: (recipe: Recipe, stored: () => Promise<ReadonlyArray<unknown>>) => Promise<void>
  ): Promise<void> => {
    const { drop, url } = await emptyDatabase()
    await statements(url, tables)
    const recipe = (await load()).connect(url)
    const counts =
      "select (select count(*)::int from handled_events) as marks, (select count(*)::int from outbox) as messages"
    const stored = async () => Object.values((await statements(url, counts))[0] ?? {})
    try {
      await test(recipe, stored)
    } finally {
      await recipe.close()
      // A pool does not wait until the server has closed its connections, and dropping the database would break them.
      while (Number(Object.values((await statements(url, open))[0] ?? {})[0]) > 0);
      await drop()
    }
  }

  it("handles an event only once if the event arrives twice", () =>
    withRecipe(async ({ handle }, stored) => {
      assert.isTrue(await handle(event))
      assert.isFalse(await handle(event))
      assert.deepStrictEqual(await stored(), [1, 1])
    }))

  it("handles concurrent copies of an event only once", () =>
    withRecipe(async ({ handle }, stored) => {
      const copies = await Promise.all([handle(event), handle(event)])
      assert.deepStrictEqual(copies.toSorted(), [false, true])
      assert.deepStrictEqual(await stored(), [1, 1])
    }))

  it("does not mark an event as handled if the handler fails", () =>
    withRecipe(async ({ handle }, stored) => {
      assert.isDefined(
        await handle(failing).then(
          () => undefined,
          (error: unknown) => error
        )
      )
      assert.deepStrictEqual(await stored(), [0, 0])
      assert.isTrue(await handle(event))
      assert.deepStrictEqual(await stored(), [1, 1])
    }))

  it("handles an event's second copy after the first copy's handler failed", () =>
    withRecipe(async ({ handle }, stored) => {
      await Promise.allSettled([handle(failing), handle(event)])
      assert.deepStrictEqual(await stored(), [1, 1])
    }))

  it("consumes a service's events in the same process", () =>
    withRecipe(async (recipe, stored) => {
      const quotewire = embed({ storage: MemoryStorage.layer })
      const { id: organization_id } = await quotewire.createOrganization("Acme")
      const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
      const client = quotewire.client(key)
      const done = Promise.withResolvers<void>()
      let handled = 0
      const stop = consume(quotewire, {
        ...recipe,
        handle: async (one) => {
          const first = await recipe.handle(one)
          handled += 1
          if (handled === 3) done.resolve()
          return first
        }
      })
      await stop.ready
      await client.start_quote_request({
        line: "renters",
        request_key: "first",
        consent_receipt_id: "receipt-0001",
        application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
      })
      await client.advance_time({ seconds: 60 }, { idempotency_key: "one-minute" })
      await done.promise
      await quotewire.close()
      assert.deepStrictEqual(await stored(), [3, 3])
    }))

  it("handles a webhook only once if the webhook arrives twice, and rejects a forgery", () =>
    withRecipe(async (recipe, stored) => {
      const secret = Signature.makeSecret(new Uint8Array(32).fill(1))
      const body = JSON.stringify(event)
      const at = Math.floor(Date.now() / 1_000)
      const signature = await Effect.runPromise(
        Effect.flatMap(Mac.Mac, (mac) => Signature.sign(mac, [secret], event.id, at, body)).pipe(
          Effect.provide(NodeCrypto.layer)
        )
      )
      const headers = { "webhook-id": event.id, "webhook-timestamp": `${at}`, "webhook-signature": signature }
      const deliver = (text: string) =>
        receive(headers, new TextEncoder().encode(text), { ...recipe, secrets: [secret] })
      assert.deepStrictEqual([await deliver(body), await deliver(body), await deliver(`${body} `)], [204, 204, 400])
      assert.deepStrictEqual(await stored(), [1, 1])
    }))
})
