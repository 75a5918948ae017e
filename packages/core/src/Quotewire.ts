import { Effect, Layer } from "effect"
import { Aead, Digest, Mac, SecureRandom } from "effect/crypto"
import { Access } from "./access/Access.ts"
import { Allowance, AllowanceLimits } from "./access/limits/Allowance.ts"
import type { Limits } from "./access/limits/Limits.ts"
import { givingUp, Seal, SealKeys, withSealing } from "./access/sealing/Seal.ts"
import { SealedRows } from "./access/sealing/SealedRows.ts"
import * as SealKeysInUse from "./access/sealing/SealKeysInUse.ts"
import { TextCrypto } from "./access/sealing/TextCrypto.ts"
import { Workspaces } from "./access/Workspaces.ts"
import { IdempotentCalls } from "./calls/IdempotentCalls.ts"
import { Mailboxes } from "./calls/Mailboxes.ts"
import { RequestLog } from "./calls/RequestLog.ts"
import { Revisions, ServedRevisions } from "./calls/Revision.ts"
import { CarrierAdapters } from "./carriers/Carrier.ts"
import { CarrierClient } from "./carriers/CarrierClient.ts"
import { Connections } from "./carriers/Connections.ts"
import { Circuits } from "./carriers/health/Circuits.ts"
import { ExchangeRecording, OnCarrierExchange } from "./carriers/recorder/CarrierExchange.ts"
import { Recorder } from "./carriers/recorder/Recorder.ts"
import type { Config } from "./config/Config.ts"
import { type InvalidConfig, readConfig } from "./config/ConfigRules.ts"
import { Consumers } from "./consuming/Consumers.ts"
import { Events } from "./events/Events.ts"
import { Feedback } from "./feedback/Feedback.ts"
import type { Services } from "./hostApi.ts"
import { kinds } from "./kinds.ts"
import { Lines, linesOf } from "./lines/Lines.ts"
import { AuditLog } from "./operators/AuditLog.ts"
import { OperatorTokens } from "./operators/OperatorTokens.ts"
import { QuoteRequestSearch } from "./operators/QuoteRequestSearch.ts"
import { WorkReports } from "./operators/WorkReports.ts"
import { Asking } from "./quoting/asking/Asking.ts"
import { PendingAsks } from "./quoting/asking/PendingAsks.ts"
import { Erasures } from "./quoting/erasing/Erasures.ts"
import { QuoteRequests } from "./quoting/QuoteRequests.ts"
import { QuoteStarts } from "./quoting/QuoteStarts.ts"
import { Quotes } from "./quoting/Quotes.ts"
import { Handlers } from "./runner/Handlers.ts"
import { Retention, RetentionPeriods } from "./runner/Retention.ts"
import { Runner } from "./runner/Runner.ts"
import { fictionalCarriers } from "./sandbox/fictionalCarriers.ts"
import { Sandbox } from "./sandbox/Sandbox.ts"
import { LongPolls } from "./storage/Hints.ts"
import { withStaging } from "./storage/Staging.ts"
import { Storage, type StorageUnavailable } from "./storage/Storage.ts"
import { Timelines } from "./timeline/Timelines.ts"
import { Deliveries } from "./webhooks/deliveries/Deliveries.ts"
import { withDeliveries } from "./webhooks/deliveries/Publishing.ts"
import { Recoveries } from "./webhooks/deliveries/Recoveries.ts"
import { EventSubscriptions } from "./webhooks/subscriptions/EventSubscriptions.ts"
import type { WebhookSender } from "./webhooks/WebhookSender.ts"
import { checkVersion } from "./wire/EffectCopy.ts"
import { Ids } from "./wire/Ids.ts"
import { PublicUrl } from "./wire/PublicUrl.ts"

export * from "./hostApi.ts"

/** The ports for the cryptography that the core needs. A host can provide faster implementations. */
export type Cryptography = TextCrypto | Mac.Mac | Digest.Digest | SecureRandom.SecureRandom

/** Cryptography with WebCrypto, which every runtime has. */
export const webCryptography: Layer.Layer<Cryptography> = TextCrypto.layer.pipe(
  Layer.provide(Aead.layerWebCrypto),
  Layer.provideMerge(Layer.merge(Mac.layerWebCrypto, Digest.layerWebCrypto)),
  Layer.provideMerge(SecureRandom.layerWebCrypto)
)

/** The sandbox's fictional carriers. The core ships with no other carriers. */
export const sandboxCarriers: Layer.Layer<CarrierAdapters, never, Mac.Mac> = Layer.effect(
  CarrierAdapters,
  fictionalCarriers
)

/**
 * Provides a configuration's lines as the `Lines` reference, for this layer and everything built on it.
 *
 * Building the layer fails if the configuration is wrong; the error lists every mistake.
 */
export const lines = (config: Config): Layer.Layer<never, InvalidConfig> =>
  Layer.effect(
    Lines,
    Effect.flatMap(Effect.fromResult(readConfig(config)), (checkedConfig) =>
      checkedConfig.lines === undefined ? Lines : Effect.succeed(linesOf(checkedConfig.lines))
    )
  )

/**
 * Provides a configuration's carriers: the fictional carriers, unless the configuration disables them, followed by the
 * configuration's own carriers. Also provides the configuration's lines.
 *
 * Building the layer fails if the configuration is wrong; the error lists every mistake.
 */
export const carriers = (config: Config): Layer.Layer<CarrierAdapters, InvalidConfig, Mac.Mac> =>
  Layer.merge(
    lines(config),
    Layer.effect(
      CarrierAdapters,
      Effect.gen(function* () {
        const { carriers: ownCarriers = [], fictional_carriers = true } = yield* Effect.fromResult(readConfig(config))
        return fictional_carriers ? [...(yield* fictionalCarriers), ...ownCarriers] : ownCarriers
      })
    )
  )

/**
 * Provides a configuration's settings for exchanges with carriers: the transport, and what is recorded. Omitted options
 * keep their defaults.
 */
export const exchanges = ({
  carrier_transport = Layer.empty,
  exchange_recording,
  exchanges_days,
  on_carrier_exchange
}: Omit<Config, "carriers">): Layer.Layer<never> =>
  Layer.mergeAll(
    carrier_transport,
    Layer.effect(
      ExchangeRecording,
      Effect.map(ExchangeRecording, (byDefault) => ({ ...byDefault, ...exchange_recording }))
    ),
    Layer.effect(
      RetentionPeriods,
      Effect.map(RetentionPeriods, (periods) => ({
        ...periods,
        exchanges_days: exchanges_days ?? periods.exchanges_days
      }))
    ),
    on_carrier_exchange === undefined ? Layer.empty : Layer.succeed(OnCarrierExchange, on_carrier_exchange)
  )

/**
 * Provides the revisions that a configuration serves; by default this release's revisions. Hosts need this layer too.
 */
export const revisions = ({ revisions: served }: Pick<Config, "revisions">): Layer.Layer<never> =>
  served === undefined ? Layer.empty : Layer.succeed(ServedRevisions, served)

/**
 * A standalone layer that manages organizations, keys and operators' tokens. It needs no seal keys, because it seals
 * nothing that it stores.
 */
export const administration: Layer.Layer<Access | OperatorTokens, never, Storage | Cryptography> = Layer.merge(
  Access.layer,
  OperatorTokens.layer
).pipe(Layer.provide(Layer.merge(Seal.layer, Ids.layer)), Layer.provide(SealKeys.layerEphemeral))

/** Fails if a seal key is easy to guess. */
const strongKeys = Effect.flatMap(SealKeys, SealKeysInUse.checkStrength)

// Before anything is sealed, check that the seal keys cannot be guessed, and that they match the storage.
const checkedSeal = Layer.effect(
  Seal,
  Effect.gen(function* () {
    const seal = yield* Seal
    yield* strongKeys
    return givingUp(seal, yield* SealKeysInUse.register(yield* Storage, seal))
  })
).pipe(Layer.provide(Seal.layer))

/**
 * A standalone layer that manages organizations' connections. It needs the seal keys, because connections are sealed.
 */
export const connections: Layer.Layer<
  Connections,
  SealKeysInUse.SealKeysRefused | StorageUnavailable,
  Storage | SealKeys | CarrierAdapters | Cryptography
> = Connections.layer.pipe(Layer.provide(checkedSeal), Layer.provide(Workspaces.layer))

/**
 * A standalone layer that shows consumers and their parked events. It needs no seal keys, because consumers and parked
 * events are not sealed.
 */
export const consumers: Layer.Layer<Consumers, never, Storage | SecureRandom.SecureRandom> = Consumers.layer.pipe(
  Layer.provide(Ids.layer),
  Layer.provide(Workspaces.layer)
)

/**
 * A standalone layer that shows and closes carriers' circuits. It needs no seal keys, because circuits are not sealed.
 */
export const circuits: Layer.Layer<Circuits, never, Storage | CarrierAdapters> = Circuits.layer

// Every change passes through this storage, so events always get their deliveries, and bodies that may contain facts
// are always sealed.
const storageOfServices: Layer.Layer<Storage, never, Storage | Revisions | Workspaces | Seal> = Layer.effect(
  Storage,
  Effect.gen(function* () {
    const delivering = withDeliveries(yield* Storage, yield* Revisions, yield* Workspaces)
    return withSealing(delivering, yield* Seal, kinds)
  })
)

// The quoting services, without the services that call carriers.
const quoting = Layer.mergeAll(Asking.layer, QuoteRequests.layer, Quotes.layer).pipe(Layer.provide(PendingAsks.layer))

// Jobs that run ahead of a sandbox's clock use separate instances of the services. `Staging` holds back their changes
// and commits several of them together.
const staged = Layer.fresh(quoting).pipe(Layer.provide(Layer.effect(Storage, Effect.map(Storage, withStaging))))

const quotingHandlers = Effect.gen(function* () {
  const asking = yield* Asking
  const requests = yield* QuoteRequests
  const quotes = yield* Quotes
  return { jobs: { ...asking.jobs, ...requests.jobs, ...quotes.jobs }, abandon: requests.abandon }
})

// Maps each kind of job to the service that runs it. A kind without a handler does not compile.
const handlers = Layer.effect(
  Handlers,
  Effect.gen(function* () {
    const { abandon, jobs } = yield* quotingHandlers
    const subscriptions = yield* EventSubscriptions
    const deliveries = yield* Deliveries
    const recoveries = yield* Recoveries
    return Handlers.of({
      jobs: { ...jobs, ...subscriptions.jobs, ...deliveries.jobs, ...recoveries.jobs },
      abandon: (job, now) => (job.kind === "deliver" ? deliveries.abandon(job, now) : abandon(job, now)),
      staged: yield* Effect.provide(quotingHandlers, yield* Layer.build(staged))
    })
  })
)

/** A standalone layer that erases people's data. It needs the seal keys, because it opens sealed data. */
export const erasures: Layer.Layer<
  Erasures,
  SealKeysInUse.SealKeysRefused | StorageUnavailable,
  Storage | SealKeys | Cryptography
> = Erasures.layer(kinds).pipe(
  Layer.provide(Ids.layer),
  Layer.provide(storageOfServices),
  Layer.provide(checkedSeal),
  Layer.provide(Revisions.layer),
  Layer.provide(Workspaces.layer)
)

/** A standalone layer that reseals data with the newest seal key. */
export const sealedRows: Layer.Layer<SealedRows, SealKeysInUse.SealKeysRefused, Storage | SealKeys | Cryptography> =
  SealedRows.layer(kinds).pipe(Layer.provide(Seal.layer), Layer.provide(Layer.effectDiscard(strongKeys)))

// Ignores carriers' terms for lines that this host does not offer.
const knownCarriers = Layer.effect(
  CarrierAdapters,
  Effect.gen(function* () {
    const offered = yield* Lines
    const adapters = yield* CarrierAdapters
    for (const { carrier, lines: terms } of adapters.filter(({ simulation }) => simulation === undefined)) {
      const unknown = Object.keys(terms).filter((name) => !offered.has(name))
      if (unknown.length === 0) continue
      yield* Effect.logWarning("A carrier has lines that this host does not offer").pipe(
        Effect.annotateLogs({ carrier_id: carrier.id, lines: unknown.join(", ") })
      )
    }
    return adapters
  })
)

/**
 * The whole core on top of a storage backend.
 *
 * It runs no jobs: add `worker` in each process that should run jobs. Building the layer fails if the storage was
 * sealed with keys other than the given seal keys.
 */
export const layer: Layer.Layer<
  Services,
  SealKeysInUse.SealKeysRefused | StorageUnavailable,
  Storage | SealKeys | CarrierAdapters | WebhookSender | Cryptography
> = Sandbox.layer.pipe(
  Layer.provideMerge(Runner.layer),
  Layer.provide(handlers),
  Layer.provideMerge(
    Layer.mergeAll(
      quoting,
      QuoteStarts.layer,
      Erasures.layer(kinds),
      Consumers.layer,
      Events.layer,
      Feedback.layer,
      Mailboxes.layer,
      Timelines.layer,
      OperatorTokens.layer,
      AuditLog.layer,
      QuoteRequestSearch.layer,
      WorkReports.layer
    )
  ),
  // Jobs and clicks on links share one client, because the client counts the calls in progress with each carrier.
  Layer.provide(Layer.merge(CarrierClient.layer, Recorder.layer)),
  Layer.provideMerge(Layer.mergeAll(EventSubscriptions.layer, Deliveries.layer, Recoveries.layer)),
  Layer.provideMerge(
    Layer.mergeAll(
      Access.layer,
      Allowance.layer,
      IdempotentCalls.layer,
      RequestLog.layer,
      Retention.layer(kinds),
      LongPolls.layer
    )
  ),
  Layer.provideMerge(Ids.layer),
  Layer.provide(storageOfServices),
  Layer.provideMerge(Layer.mergeAll(Connections.layer, Circuits.layer, SealedRows.layer(kinds))),
  Layer.provideMerge(checkedSeal),
  Layer.provideMerge(Revisions.layer),
  Layer.provideMerge(Workspaces.layer),
  Layer.provideMerge(knownCarriers),
  // Calls, hosts and services share the same lines and public address.
  Layer.provideMerge(Layer.merge(Layer.effect(Lines, Lines), Layer.effect(PublicUrl, PublicUrl))),
  Layer.provideMerge(Layer.effectDiscard(checkVersion()))
)

/**
 * Gives some callers of a service different rate limits, such as the callers of one host.
 *
 * Their calls are counted together with the calls of all other callers on the storage. The service's own limit still
 * applies to webhook tests and replays.
 */
export const limited = (limits: Limits): Layer.Layer<Allowance, never, Storage> =>
  Layer.provide(Layer.fresh(Allowance.layer), Layer.succeed(AllowanceLimits, limits))

/**
 * Makes identifiers without the rest of the core, for a host that must respond although its service could not start.
 */
export const identifiers: Layer.Layer<Ids> = Layer.provide(Ids.layer, SecureRandom.layerWebCrypto)

/**
 * Runs due jobs and erases old records as long as the layer exists. At least one process of a service needs this layer.
 */
export const worker: Layer.Layer<never, never, Services> = Layer.merge(Runner.layerForever, Retention.layerForever)
