// Compiles schemas to code, as the `quotewire` command does on startup.
import "effect/schema/SchemaJITCompiler/enable"
import {
  Access,
  Allowance,
  FinishedCall,
  Ids,
  Json,
  type Operation,
  Pipeline,
  Quotewire,
  Seal,
  type Storage,
  WebhookSender
} from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"
import { named } from "./operations.ts"

const many: Allowance.Limit = { per_minute: 1_000_000_000, per_day: 1_000_000_000 }

/** The standard limits, except that the limits for keys are too high to reach. So calls are counted but not refused. */
export const limits: Allowance.Limits = {
  ...Allowance.standardLimits,
  keys: { live: { start: many, read: many, other: many }, sandbox: { start: many, read: many, other: many } }
}

/**
 * How many calls succeeded and how many were refused. Calls are counted here, because a real host counts its calls too.
 */
const finished = { well: 0, refused: 0 }
const onFinishedCall = ({ error_code }: FinishedCall.FinishedCall): void => {
  finished[error_code === null ? "well" : "refused"] += 1
}

/** The whole core on a storage backend, wired as a host does it. */
export const layerOn = (storage: Layer.Layer<Storage.Storage>): Layer.Layer<Quotewire.Services | Storage.Storage> =>
  Quotewire.layer.pipe(
    Layer.provideMerge(storage),
    Layer.provide(Quotewire.sandboxCarriers),
    Layer.provide(Seal.SealKeys.layerEphemeral),
    Layer.provide(WebhookSender.WebhookSender.layerOff),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, limits)),
    Layer.provideMerge(Layer.succeed(FinishedCall.OnFinishedCall, onFinishedCall)),
    Layer.orDie
  )

/** The whole core, with storage in memory. */
export const layer = layerOn(MemoryStorage.layer)

/** Creates an organization and a key for its sandbox. */
export const makeKey = Effect.gen(function* () {
  const access = yield* Access.Access
  const { id: organization_id } = yield* access.createOrganization("Bench")
  const { key } = yield* access.createKey({ organization_id, environment: "sandbox", kind: "server" })
  return key
}).pipe(Effect.orDie)

let calls = 0

/** Calls an operation through the whole call pipeline, as a host does. The response is encoded, as a host sends it. */
export const call = <Output, R>(
  operation: Operation.Operation<string, unknown, Output, R>,
  key: string,
  input: unknown
) =>
  Effect.flatMap(Ids.Ids, (ids) =>
    Pipeline.call(operation, {
      request_id: ids.request(),
      credentials: { key, read_handle: null, address: "127.0.0.1", keyless: false },
      revision: { header: null },
      idempotency_key: operation.idempotent ? `bench-${++calls}` : null,
      input: Effect.succeed(input)
    })
  ).pipe(
    Effect.map((reply) => reply.json),
    Effect.orDie
  )

export const getCapabilities = named("get_capabilities")
export const startQuoteRequest = named("start_quote_request")
export const getQuoteRequest = named("get_quote_request")
export const getQuote = named("get_quote")
export const listEvents = named("list_events")
export const advanceTime = named("advance_time")

/** Starts a quote request, advances the clock by a minute, and returns the quotes. */
export const makeQuotes = Effect.fnUntraced(function* (key: string, start: object) {
  const { id } = Json.decode(yield* call(startQuoteRequest, key, start))
  yield* call(advanceTime, key, { seconds: 60 })
  const { quotes } = Json.decode(yield* call(getQuoteRequest, key, { id, wait_seconds: 0 }))
  return quotes
})
