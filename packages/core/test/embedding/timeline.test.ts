import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import { CarrierAdapters } from "../../src/carriers/Carrier.ts"
import type { CarrierExchange } from "../../src/carriers/recorder/CarrierExchange.ts"
import type { EmbedOptions } from "../../src/embedding/Embedded.ts"
import { embed } from "../../src/embedding/embed.ts"
import { declined, prompt } from "../quoting/carriers.ts"
import { startOf } from "./starts.ts"

/** A live request that one carrier has declined, and its timeline. */
const declinedRequest = (options: Partial<EmbedOptions> = {}) =>
  Effect.gen(function* () {
    const quotewire = yield* Effect.acquireRelease(
      Effect.sync(() =>
        embed({
          storage: MemoryStorage.layer,
          carriers: Layer.succeed(CarrierAdapters, [prompt("acme", declined).adapter]),
          ...options
        })
      ),
      (running) => Effect.promise(() => running.close())
    )
    return yield* Effect.promise(async () => {
      const { id: organization_id } = await quotewire.createOrganization("Acme")
      const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
      const client = quotewire.client(key)
      const { id } = await client.start_quote_request(startOf())
      let status = "in_progress"
      while (status === "in_progress") {
        status = (await client.get_quote_request({ id, wait_seconds: 5 })).quote_request.status
      }
      return { quotewire, id, timeline: await quotewire.timeline(id) }
    })
  })

describe("an embedded service's timeline", () => {
  it.live("contains only the exchanges that exchange_recording selects", () =>
    Effect.gen(function* () {
      const seen: Array<CarrierExchange> = []
      const on_carrier_exchange = (exchange: CarrierExchange) => void seen.push(exchange)
      const byDefault = yield* declinedRequest({ on_carrier_exchange })
      assert.notInclude(
        byDefault.timeline.entries.map(({ what }) => what),
        "exchange"
      )
      assert.deepStrictEqual(
        seen.map(({ outcome, quote_request_id }) => `${outcome} ${quote_request_id}`),
        [`declined ${byDefault.id}`]
      )
      const { timeline } = yield* declinedRequest({ exchange_recording: { live: "all" } })
      assert.include(
        timeline.entries.map(({ what }) => what),
        "exchange"
      )
    })
  )

  it.live("is not found for an unknown request", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* declinedRequest()
      const error = yield* Effect.flip(
        Effect.tryPromise({ try: () => quotewire.timeline("qreq_x"), catch: (rejected) => rejected })
      )
      assert.propertyVal(error, "code", "not_found")
    })
  )
})
