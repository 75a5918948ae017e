import {
  Access,
  Allowance,
  type Carrier,
  type CarrierExchange,
  type Change,
  Connections,
  type Ids,
  Quotewire,
  RequestLog,
  Seal,
  Storage,
  WebhookSender
} from "@quotewire/core"
import { CarrierTransports, NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, References } from "effect"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import { connection } from "./carrier.ts"

/** How a service asks its carriers. */
export interface Settings {
  readonly carriers: ReadonlyArray<Carrier.CarrierAdapter>
  readonly recorded: CarrierExchange.RecordedExchanges
  /** The maximum number of connections to one carrier. */
  readonly connections: number
}

/** The whole core with its own carriers, wired as a host does it, but without its worker. */
export const core = (
  storage: Layer.Layer<Storage.Storage>,
  { carriers, connections, recorded }: Settings
): Layer.Layer<Quotewire.Services | Storage.Storage> =>
  Quotewire.layer.pipe(
    Layer.provideMerge(storage),
    Layer.provide(Quotewire.carriers({ carriers, fictional_carriers: false })),
    Layer.provide(
      Quotewire.exchanges({
        carrier_transport: CarrierTransports.layer({ connections_per_origin: connections }),
        exchange_recording: { live: recorded }
      })
    ),
    Layer.provide(Seal.SealKeys.layerEphemeral),
    Layer.provide(WebhookSender.WebhookSender.layerOff),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
    Layer.provide(Layer.succeed(RequestLog.RequestLogEnabled, false)),
    // Raises the log level. Otherwise a log line for every ask that a slow carrier has not answered would bury the
    // results.
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error")),
    Layer.orDie
  )

type StorageService = Storage.Storage["Service"]

/** Storage in memory, with some of its functions replaced. */
export const memoryWith = (
  change: (storage: StorageService) => Partial<StorageService>
): Layer.Layer<Storage.Storage> =>
  Layer.effect(
    Storage.Storage,
    Effect.map(Storage.Storage, (storage) => ({ ...storage, ...change(storage) }))
  ).pipe(Layer.provide(MemoryStorage.layer))

/** How many quotes a change writes. */
export const quotesIn = ({ writes }: Change.Change): number => writes.filter(({ kind }) => kind === "quote").length

/** Creates a live workspace. Its organization has a key, and a connection to each of these carriers. */
export const makeWorkspace = Effect.fnUntraced(function* (carrierIds: ReadonlyArray<string>) {
  const access = yield* Access.Access
  const connections = yield* Connections.Connections
  const { id: organization_id, workspaces } = yield* access.createOrganization("Bench")
  const { key } = yield* access.createKey({ organization_id, environment: "live", kind: "server" })
  for (const carrier_id of carrierIds) {
    yield* connections.set({ organization_id, environment: "live", carrier_id, values: connection })
  }
  const workspace: { readonly key: string; readonly workspace_id: Ids.WorkspaceId } = {
    key,
    workspace_id: workspaces.live
  }
  return workspace
}, Effect.orDie)

let started = 0

/** Starts one quote request. */
export const start = (key: string) => Service.call(Service.startQuoteRequest, key, starts.household(`ask-${++started}`))
