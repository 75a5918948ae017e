import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import { CarrierAdapters } from "../../src/carriers/Carrier.ts"
import { defineConfig } from "../../src/config/Config.ts"
import type { Embedded, EmbedOptions } from "../../src/embedding/Embedded.ts"
import { embed } from "../../src/embedding/embed.ts"
import { prompt } from "../quoting/carriers.ts"

/** A service, closed at the end of the test. */
const embedded = (options: Partial<EmbedOptions> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => embed({ storage: MemoryStorage.layer, ...options })),
    (quotewire) => Effect.promise(() => quotewire.close())
  )

/** The error that a promise rejects with. */
const rejection = (promise: Promise<unknown>) => Effect.flip(Effect.tryPromise({ try: () => promise, catch: (e) => e }))

describe("an embedded service's carriers", () => {
  const acme = prompt("naic:12345").adapter

  /** How many carriers can be asked for renters insurance in New York. */
  const countOf = (quotewire: Embedded, environment: "sandbox" | "live") =>
    Effect.promise(async () => {
      const { id: organization_id } = await quotewire.createOrganization("Acme")
      const { key, warnings } = await quotewire.createKey({ organization_id, environment, kind: "server" })
      const { capabilities } = await quotewire.client(key).get_capabilities({ line: "renters" })
      return { carriers: capabilities.states.find(({ code }) => code === "NY")?.carriers, warnings }
    })

  it.live.each([
    {
      says: "the program's own and the fictional carriers",
      options: defineConfig({ carriers: [acme] }),
      fictional: true
    },
    {
      says: "only the program's own if the fictional carriers are turned off",
      options: defineConfig({ carriers: [acme], fictional_carriers: false }),
      fictional: false
    },
    {
      says: "only the carriers of a given layer",
      options: { carriers: Layer.succeed(CarrierAdapters, [acme]) },
      fictional: false
    }
  ])("are $says", ({ fictional, options }) =>
    Effect.gen(function* () {
      const usual = yield* countOf(yield* embedded(), "sandbox")
      const quotewire = yield* embedded(options)
      const expected = 1 + (fictional ? (usual.carriers ?? 0) : 0)
      assert.deepStrictEqual(yield* countOf(quotewire, "sandbox"), { carriers: expected, warnings: [] })
      assert.deepStrictEqual(yield* countOf(quotewire, "live"), { carriers: 1, warnings: [] })
    })
  )

  it.live("prevent the service from starting if a carrier is invalid, with every fault in one message", () =>
    Effect.gen(function* () {
      const wrong = prompt("naic:23456", undefined, { states: ["NY", "ZZ"] }).adapter
      const { ready, createOrganization } = yield* embedded({ carriers: [wrong, acme, acme] })
      for (const promise of [ready, createOrganization("Acme")]) {
        const message = `${yield* rejection(promise)}`
        assert.include(message, "carriers.0.lines.renters.states.1: Must be a USPS state code or DC, such as NY.\n")
        assert.include(message, "carriers.2.carrier.id: Must differ from carriers.1.carrier.id.")
      }
    })
  )
})
