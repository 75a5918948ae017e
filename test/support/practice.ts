import {
  type Carrier,
  type CarrierDefinition,
  CarrierTransport,
  embed,
  type Ids,
  type InputOf,
  Seal,
  Storage,
  type Timeline
} from "@quotewire/core"
import { CarrierTransports, NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Clock, Effect, Layer, Logger, Redacted, References, Scope, Stream } from "effect"
import { FetchHttpClient, HttpClient, type HttpClientResponse } from "effect/http"
import { receiveCallbacks } from "../../examples/carriers/receiver.ts"
import { startCarrier } from "../../examples/carriers/server.ts"
import * as IdleTime from "./idleTime.ts"

/*
 * The carrier to practise on, and services that ask it over real sockets. Carrier and services live in the same idle time.
 */

export const callback_secret = "a secret that both sides know"
const values = { client_id: "acme", client_secret: "a secret of Acme's" }

export type Terms = Partial<CarrierDefinition.LineTerms>
export type AdapterAt = (base_url: string, terms?: Terms) => Carrier.CarrierAdapter
type Environment = "sandbox" | "live"
type Application = Extract<InputOf<"start_quote_request">, { readonly line: "renters" }>["application"]

export const application: Application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }

/** The ways out to carriers: that of the host, and the default of `embed`. */
const transports = {
  undici: CarrierTransports.make(),
  fetch: Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)
}

/** What a practice begins with. */
export interface PracticeSettings {
  readonly terms?: Terms
  readonly transport?: keyof typeof transports
}

/** Starts the carrier, with storage and time for services that ask it. Everything ends with the test. */
export const practise = async (adapterAt: AdapterAt, { terms = {}, transport = "undici" }: PracticeSettings = {}) => {
  await using closing = new AsyncDisposableStack()
  const time = IdleTime.make("2026-11-20T12:00:00Z")
  const send: typeof fetch = (...args) => fetch(...args).finally(time.begun())
  const carrier = closing.adopt(await startCarrier({ callback_secret, wait: time.wait, send }), ({ close }) => close())
  const adapter = adapterAt(carrier.url, terms)
  const scope = closing.adopt(Scope.makeUnsafe(), (scope) => Effect.runPromise(Scope.close(scope, Effect.void)))
  const client = await Effect.runPromise(Scope.provide(transports[transport], scope))
  const storage = await Effect.runPromise(Effect.scoped(Effect.provide(Storage.Storage, MemoryStorage.layer)))
  const warnings: Array<string> = []

  /** Starts a service on the storage: the first, or one that comes after it. */
  const serve = async () => {
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
      // The same key for all services, so that one reads what another has stored.
      seal_keys: Layer.succeed(Seal.SealKeys, { keys: [Redacted.make(new Uint8Array(Seal.key_bytes))] }),
      exchange_recording: { live: "all" }
    })
    closing.defer(() => (life.isOver ? Promise.resolve() : time.until(quotewire.close())))
    const receiver = closing.adopt(await receiveCallbacks(quotewire), ({ close }) => close())
    const callback_url = receiver.urlFor(adapter.carrier.id)
    carrier.callBackTo(callback_url)
    return {
      quotewire,
      callback_url,
      /** Ends the service as a process dies: from now on nothing of it reaches the storage or the carrier. */
      kill: () => {
        life.isOver = true
      }
    }
  }

  /** An organization that is appointed by the carrier, and its calls. */
  const join = async (quotewire: Service["quotewire"], environment: Environment, name = "Acme") => {
    const { id: organization_id } = await quotewire.createOrganization(name)
    await quotewire.setConnection({ organization_id, environment, carrier_id: adapter.carrier.id, values })
    const { key } = await quotewire.createKey({ organization_id, environment, kind: "server" })
    return memberOf(quotewire, key, time)
  }

  const first = await serve()
  const member = await join(first.quotewire, "live")
  const moved = closing.move()
  return {
    ...first,
    ...member,
    time,
    carrier,
    /** The warnings of all services: what is logged, and what it says about it. */
    warnings,
    serve,
    join,
    [Symbol.asyncDispose]: () => moved.disposeAsync()
  }
}

interface Service {
  readonly quotewire: ReturnType<typeof embed>
}

/** The calls of an organization, with its key. */
export const memberOf = (quotewire: Service["quotewire"], key: string, time: ReturnType<typeof IdleTime.make>) => {
  const client = quotewire.client(key)
  const read = (id: Ids.QuoteRequestId) => client.get_quote_request({ id, wait_seconds: 0 })
  let count = 0
  return {
    key,
    start: async (facts: Partial<Application> = {}) => {
      count += 1
      const { id } = await client.start_quote_request({
        line: "renters",
        request_key: `request-${count}`,
        consent_receipt_id: "receipt-0001",
        application: { ...application, ...facts }
      })
      return id
    },
    /** What the carrier's part of a request has come to: the premium in cents, or the reason. */
    resultOf: async (id: Ids.QuoteRequestId) => {
      const { quote_request, quotes } = await read(id)
      const [result] = quote_request.carriers
      return [result?.outcome, quotes[0]?.price.premium?.amount_minor ?? result?.reason]
    },
    /** Lets time pass until a request has ended, or is `pending` at the carrier. */
    passUntil: async (id: Ids.QuoteRequestId, what: "ended" | "asked" = "ended") => {
      const isReached = ({ quote_request: { status, carriers } }: Awaited<ReturnType<typeof read>>) =>
        status !== "in_progress" || (what === "asked" && carriers.length > 0)
      let found = await read(id)
      while (!isReached(found)) {
        const since_version = found.quote_request.version
        found = await time.until(client.get_quote_request({ id, since_version, wait_seconds: 10 }))
      }
      const [result] = found.quote_request.carriers
      return [result?.outcome, found.quotes[0]?.price.premium?.amount_minor ?? result?.reason]
    },
    /** What the timeline tells of the carrier, in a few words. */
    told: async (id: Ids.QuoteRequestId) => (await quotewire.timeline(id)).entries.flatMap(wordsOf)
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
        .map(({ method, path, status, error }) => ` ${method} ${path} ${status ?? error}`)
      return [`${exchange} ${attempt} ${outcome}${reason === null ? "" : ` ${reason}`}:${calls.join(",")}`]
    }
    default:
      return []
  }
}

/** A logger that keeps warnings and errors. */
const loggerTo = (warnings: Array<string>) =>
  Logger.make(({ fiber, logLevel, message }) => {
    if (logLevel !== "Warn" && logLevel !== "Error" && logLevel !== "Fatal") return
    const { carrier_id: _, quote_request_id: _id, ...about } = fiber.getRef(References.CurrentLogAnnotations)
    warnings.push(`${String(message)} ${JSON.stringify(about)}`)
  })

/** A storage that answers as long as its process lives. */
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

/** A client whose requests are under way until their answers are read. After its process has died it sends nothing. */
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
    get: (target, name) =>
      name === "stream" ? Stream.ensuring(target.stream, ended) : Reflect.get(target, name, target)
  })
