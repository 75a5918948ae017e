import { randomBytes } from "node:crypto"
import { assert } from "@effect/vitest"
import {
  type Carrier,
  type CarrierDefinition,
  CarrierTransport,
  type Embedded,
  embed,
  Seal,
  Storage,
  type Timeline
} from "@quotewire/core"
import { CarrierTransports, NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Effect, Exit, Layer, Logger, Redacted, References, Scope, Stream } from "effect"
import { FetchHttpClient, HttpClient, type HttpClientResponse } from "effect/http"
import { receiveCallbacks } from "../../examples/carriers/receiver.ts"
import { startCarrier } from "../../examples/carriers/server.ts"
import * as IdleTime from "./idleTime.ts"

/*
 * The practice carrier, and services that ask it over real sockets. Carrier and services share the same idle time.
 */

export const callbackSecret = "a secret that both sides know"

/** Tokens are cached for the process, and carriers of other tests may have had the same port. */
let worlds = 0

/** The same key for all services, so that one can read what another has stored. */
const sealKey = Redacted.make(new Uint8Array(randomBytes(Seal.keyBytes)))

export type Terms = Partial<CarrierDefinition.LineTerms<"renters">>
export type AdapterAt = (base_url: string, terms?: Terms) => Carrier.CarrierAdapter
type Environment = "sandbox" | "live"

export const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const

/** The transports to carriers: the host's, and the default of `embed`. */
const transports = {
  undici: CarrierTransports.make(),
  fetch: Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)
}

/** The starting conditions of a practice. */
export interface PracticeSettings {
  readonly terms?: Terms
  readonly transport?: keyof typeof transports
}

/** What the services of a practice share. */
interface Shared {
  readonly carrier: Awaited<ReturnType<typeof startCarrier>>
  readonly adapter: Carrier.CarrierAdapter
  readonly client: HttpClient.HttpClient
  readonly storage: Storage.Storage["Service"]
  readonly time: ReturnType<typeof IdleTime.make>
  readonly warnings: Array<Warning>
  readonly closing: AsyncDisposableStack
}

/** Starts a service that asks the carrier, with a receiver for the carrier's callbacks. */
const startService = async ({ adapter, carrier, client, closing, storage, time, warnings }: Shared) => {
  const life = { isOver: false }
  const quotewire = embed({
    storage: Layer.mergeAll(
      Layer.succeed(Storage.Storage, mortal(storage, life)),
      Layer.succeed(Clock.Clock, time.clock),
      Layer.succeed(CarrierTransport, noticed(client, time.begun, life)),
      Layer.succeed(References.CurrentLoggers, new Set([loggerTo(warnings)]))
    ),
    carriers: [adapter],
    fictional_carriers: false,
    cryptography: NodeCrypto.layer,
    seal_keys: Layer.succeed(Seal.SealKeys, { keys: [sealKey] }),
    exchange_recording: { live: "all" }
  })
  closing.defer(async () => {
    if (life.isOver) return
    let isClosed = false
    void quotewire.close().finally(() => {
      isClosed = true
    })
    await time.until(() => isClosed)
  })
  const receiver = closing.adopt(await receiveCallbacks(quotewire), ({ close }) => close())
  const callback_url = receiver.urlFor(adapter.carrier.id)
  carrier.callBackTo(callback_url)
  return {
    quotewire,
    callback_url,
    /** Ends the service as if its process died: from now on, nothing from it reaches the storage or the carrier. */
    kill: () => {
      life.isOver = true
    }
  }
}

/** Starts the carrier, with storage and time for services that ask it. Everything ends with the test. */
export const practise = async (adapterAt: AdapterAt, { terms = {}, transport = "undici" }: PracticeSettings = {}) => {
  const closing = new AsyncDisposableStack()
  worlds += 1
  const values = { client_id: `acme-${worlds}`, client_secret: "a secret of Acme's" }
  const time = IdleTime.make("2026-11-20T12:00:00Z")
  const send: typeof fetch = (...args) => fetch(...args).finally(time.begun())
  const carrier = closing.adopt(
    await startCarrier({ callback_secret: callbackSecret, wait: time.wait, send }),
    ({ close }) => close()
  )
  const adapter = adapterAt(carrier.url, terms)
  const scope = closing.adopt(Scope.makeUnsafe(), (opened) => Effect.runPromise(Scope.close(opened, Exit.void)))
  const client = await Effect.runPromise(Scope.provide(transports[transport], scope))
  const storage = await Effect.runPromise(Effect.scoped(Effect.provide(Storage.Storage, MemoryStorage.layer)))
  const warnings: Array<Warning> = []

  /** Starts a service on the storage: the first one, or a later one. */
  const serve = () => startService({ carrier, adapter, client, storage, time, warnings, closing })

  /** An organization appointed by the carrier, and its calls. */
  const join = async (quotewire: Embedded, environment: Environment, name = "Acme") => {
    const { id: organization_id } = await quotewire.createOrganization(name)
    await quotewire.setConnection({ organization_id, environment, carrier_id: adapter.carrier.id, values })
    const { key } = await quotewire.createKey({ organization_id, environment, kind: "server" })
    return memberOf(quotewire, key, time)
  }

  const first = await serve()
  const member = await join(first.quotewire, "live")
  return {
    ...first,
    ...member,
    time,
    carrier,
    /** The warnings of all services: each log message, and its details. */
    warnings,
    serve,
    join,
    [Symbol.asyncDispose]: () => closing.disposeAsync()
  }
}

/** The calls of an organization, with its key. */
export const memberOf = (quotewire: Embedded, key: string, time: ReturnType<typeof IdleTime.make>) => {
  const client = quotewire.client(key)
  let count = 0
  const read = (id: string) => client.get_quote_request({ id, wait_seconds: 0 })

  /** The carrier's result in a request: the premium in cents, or the reason. */
  const resultOf = async (id: string) => {
    const { quote_request, quotes } = await read(id)
    const [result] = quote_request.carriers
    return [result?.outcome, quotes[0]?.price.premium?.amount_minor ?? result?.reason]
  }
  /** What the timeline says about the carrier, in a few words. */
  const told = async (id: string) => (await quotewire.timeline(id)).entries.flatMap(wordsOf)

  return {
    key,
    resultOf,
    told,
    start: async (facts: object = {}) => {
      count += 1
      const { id } = await client.start_quote_request({
        line: "renters",
        request_key: `request-${count}`,
        consent_receipt_id: "receipt-0001",
        application: { ...application, ...facts }
      })
      return id
    },
    /** Lets time pass until a request has ended. */
    ended: async (id: string) => {
      await time.until(async () => (await read(id)).quote_request.status !== "in_progress")
      return resultOf(id)
    },
    /** Lets time pass until the carrier has accepted an ask. */
    accepted: (id: string) =>
      time.until(async () => (await told(id)).some((words) => words.startsWith("ask 1 pending")))
  }
}

const wordsOf = (entry: Timeline.Entry): ReadonlyArray<string> => {
  switch (entry.what) {
    case "asked":
      return ["asked"]
    case "not_asked":
      return [`not asked: ${entry.details.reason}`]
    case "outcome":
      return [`${entry.details.outcome} ${entry.details.reason ?? ""}`.trim()]
    case "exchange": {
      const { exchange, attempt, outcome, reason, http } = entry.details
      const calls = http
        .filter(({ path }) => path !== "/token")
        .map(({ direction, method, path, status, error }) =>
          direction === "received" ? "received" : `${method} ${path} ${status ?? error}`
        )
      return [`${exchange} ${attempt} ${outcome}${reason === null ? "" : ` ${reason}`}: ${calls.join(", ")}`]
    }
    default:
      return []
  }
}

/** A warning or an error in the log, and what it says about the carrier's answer. */
type Warning = { readonly text: string } & Readonly<Record<string, unknown>>

/** The warnings, after checking that each has its carrier and its request, which are then removed. */
export const saidOf = (warnings: ReadonlyArray<Warning>, id: string) =>
  warnings.map(({ carrier_id, quote_request_id, ...said }) => {
    assert.match(String(carrier_id), /^naic:/)
    assert.strictEqual(quote_request_id, id)
    return said
  })

/** A logger that keeps warnings and errors. */
const loggerTo = (warnings: Array<Warning>) =>
  Logger.make(({ fiber, logLevel, message }) => {
    if (logLevel !== "Warn" && logLevel !== "Error" && logLevel !== "Fatal") return
    warnings.push({ text: String(message), ...fiber.getRef(References.CurrentLogAnnotations) })
  })

/** A storage backend that works only as long as its process lives. */
const mortal = (storage: Storage.Storage["Service"], life: { readonly isOver: boolean }) => {
  const alive = <A, E, R>(use: Effect.Effect<A, E, R>) => Effect.suspend(() => (life.isOver ? Effect.never : use))
  return Storage.Storage.of({
    ...storage,
    commit: (change) => alive(storage.commit(change)),
    get: (key) => alive(storage.get(key)),
    page: (query) => alive(storage.page(query)),
    feed: (query) => alive(storage.feed(query)),
    claim: (query) => alive(storage.claim(query)),
    release: (leases) => alive(storage.release(leases)),
    erase: (erasure) => alive(storage.erase(erasure))
  })
}

/**
 * A client whose requests are in progress until their responses are read. After its process has died, it sends nothing.
 */
const noticed = (client: HttpClient.HttpClient, begun: () => () => void, life: { readonly isOver: boolean }) =>
  HttpClient.transform(client, (call) =>
    Effect.suspend(() => {
      if (life.isOver) return Effect.never
      const ended = Effect.sync(begun())
      return Effect.map(
        Effect.onError(call, () => ended),
        (response) => readThen(response, ended)
      )
    })
  )

const readThen = (
  response: HttpClientResponse.HttpClientResponse,
  ended: Effect.Effect<void>
): HttpClientResponse.HttpClientResponse =>
  new Proxy(response, {
    get: (target, name) => {
      if (name === "stream") return Stream.ensuring(target.stream, ended)
      if (name === "arrayBuffer") return Effect.ensuring(target.arrayBuffer, ended)
      return Reflect.get(target, name, target)
    }
  })
