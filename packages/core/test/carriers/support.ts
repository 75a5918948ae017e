import { Effect } from "effect"
import type { CarrierAdapter, ConnectionFields } from "../../src/carriers/Carrier.ts"
import { Connections } from "../../src/carriers/Connections.ts"
import type { StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"
import { type Character, offers, prompt } from "../quoting/carriers.ts"
import * as Log from "../quoting/log.ts"
import type { InWorld } from "../support/world.ts"

/* The connection values of an organization in tests. */

export const fields: ConnectionFields = { producer_code: "string", api_key: "secret" }
export const given = { producer_code: "PROD-4711", api_key: "Zq7xSecretZq7x" }
export const carrierId = "naic:12345"

/** A carrier whose connection needs a producer code and a key. */
export const appointing = (rest: Partial<CarrierAdapter> = {}, character: Character = {}) =>
  prompt(carrierId, offers(), { ...character, rest: { connection: fields, ...rest } })

/** The live connection of the world's organization to the carrier. */
export const place = Effect.map(World, ({ organization }) => ({
  organization_id: organization.id,
  environment: "live" as const,
  carrier_id: carrierId
}))

/** The refusal of a call. */
export const refusal = <A, R>(
  call: Effect.Effect<A, ApiError | StorageUnavailable, R>
): Effect.Effect<ApiError, A, R> => Effect.flip(Effect.catchTag(call, "StorageUnavailable", (lost) => Effect.die(lost)))

export const set = (values: unknown, changes: object = {}) =>
  Effect.flatMap(place, (at) =>
    Effect.flatMap(Connections, (connections) => connections.set({ ...at, values, ...changes }))
  )
export const remove = Effect.flatMap(place, (at) =>
  Effect.flatMap(Connections, (connections) => connections.remove(at))
)
export const test = Effect.flatMap(place, (at) => Effect.flatMap(Connections, (connections) => connections.test(at)))
export const list = Effect.flatMap(place, ({ organization_id }) =>
  Effect.flatMap(Connections, (connections) => connections.list(organization_id))
)

/** Runs a body, and returns everything that it logs, one string per line. */
export const logOf = (body: InWorld<unknown>) =>
  Effect.map(Log.logOf(body), (lines) =>
    lines.map(({ annotations, cause, text }) => `${text} ${cause} ${JSON.stringify(annotations)}`)
  )
