import { assert } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import type { Embedded, EmbedOptions } from "../../src/embedding/Embedded.ts"
import { embed } from "../../src/embedding/embed.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { ApiError } from "../../src/wire/ApiError.ts"

/** A service with a sandbox, closed at the end of the test. */
export const embedded = (options: Partial<EmbedOptions> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => embed({ storage: MemoryStorage.layer, ...options })),
    (quotewire) => Effect.promise(() => quotewire.close())
  )

/** A client for the sandbox of a new organization. */
export const clientOf = (quotewire: Embedded) =>
  Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
    return quotewire.client(key)
  })

/** The error that a promise rejects with. */
export const rejection = (promise: Promise<unknown>) =>
  Effect.flip(Effect.tryPromise({ try: () => promise, catch: (e) => e }))

/** The `ApiError` that a promise rejects with. */
export const refusal = (promise: Promise<unknown>) =>
  Effect.map(
    rejection(promise),
    (error): ApiError => (error instanceof ApiError ? error : assert.fail(`rejected with ${String(error)}`))
  )

/** The storage in memory, with some methods replaced. */
export const around = (change: (storage: Storage["Service"]) => Partial<Storage["Service"]>) =>
  Layer.effect(
    Storage,
    Effect.map(Storage, (storage) => ({ ...storage, ...change(storage) }))
  ).pipe(Layer.provide(MemoryStorage.layer))
