import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import * as Signature from "../webhooks/Signature.ts"
import { defaultDeadlineMs, type SendOutcome, WebhookSender } from "../webhooks/WebhookSender.ts"
import { secondMs } from "../wire/Timestamp.ts"

/** How a receiver answers a delivery. It is data, so that any host can play it. */
export type Respond =
  /** Answers at once with a complete response. */
  | {
      readonly does: "answer"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** Sends the status and the headers, then the body in pieces, one every so many milliseconds. */
  | {
      readonly does: "drip"
      readonly status: number
      readonly pieces: ReadonlyArray<string>
      readonly every_ms: number
    }
  /** Accepts the request and never answers. */
  | { readonly does: "hang" }
  /** Closes the connection. */
  | { readonly does: "reset" }
  /** Answers with something that is not HTTP. */
  | { readonly does: "garbage"; readonly text: string }

const answer = (status: number, headers: Readonly<Record<string, string>> = {}, body = ""): Respond => ({
  does: "answer",
  status,
  headers,
  body
})

/** Confirms the delivery. */
export const succeed: Respond = answer(204)
/** Answers with a status, such as 503, and headers, such as `retry-after`. */
export const fail = (status: number, headers?: Readonly<Record<string, string>>): Respond =>
  answer(status, headers, "no")
/** Redirects, which counts as a failure. */
export const redirect = (to: string, status = 307): Respond => answer(status, { location: to })
/** Never answers. */
export const hang: Respond = { does: "hang" }
/** Closes the connection. */
export const reset: Respond = { does: "reset" }
/** Confirms, with a body that comes piece by piece. */
export const slowBody = (pieces: number, every_ms: number, status = 200): Respond => ({
  does: "drip",
  status,
  pieces: Array.from({ length: pieces }, () => "."),
  every_ms
})
/** Answers with something that is not HTTP. */
export const garbage: Respond = { does: "garbage", text: "This is not HTTP.\r\n\r\n" }

/**
 * The same response several times, as part of a script.
 *
 * @example
 * Receiver.make({ script: { in_order: Receiver.times(3, Receiver.fail(503)) } })
 */
export const times = (count: number, respond: Respond): ReadonlyArray<Respond> =>
  Array.from({ length: count }, () => respond)

/** How genuine deliveries are answered. Others always get 400. */
export interface Script {
  /** A list for each event type, used in the order in which deliveries of that type arrive. */
  readonly by_type?: Readonly<Record<string, ReadonlyArray<Respond>>>
  /** For deliveries whose type has no list, or whose list is used up, in order of arrival. */
  readonly in_order?: ReadonlyArray<Respond>
  /** For all other deliveries; `succeed` by default. */
  readonly otherwise?: Respond
}

/** Options of a receiver. */
export interface Options {
  /** The valid secrets. If a secret is known only after the subscription is created, use `Receiver.trust`. */
  readonly secrets?: ReadonlyArray<string>
  /** The receiver's clock, in Unix seconds; the runtime's by default. */
  readonly now_seconds?: () => number
  readonly script?: Script
}

/** A delivery as a host received it. */
export interface Incoming {
  readonly headers: Signature.IncomingHeaders
  /** The raw body. */
  readonly body: string | Uint8Array
}

const ReceivedEvent = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  schema_version: Schema.String,
  resource: Schema.optionalKey(Schema.Struct({ type: Schema.String, id: Schema.String, version: Schema.Int }))
})
/** The content of a body. A test event has no resource. */
export type ReceivedEvent = typeof ReceivedEvent.Type

/** A delivery that arrived, and the verdict on it. */
export interface Arrival extends Incoming {
  /** The body as text. */
  readonly text: string
  /** Null if the body is not an event. */
  readonly event: ReceivedEvent | null
  readonly verification: Signature.Verification
  /** Whether a genuine delivery with this id arrived before: a retry, a replay or a duplicate. */
  readonly isDuplicate: boolean
  /** Whether a genuine delivery with a newer version of the same resource arrived before. */
  readonly isLate: boolean
  /** How it was answered. */
  readonly respond: Respond
}

/** Receives deliveries, verifies and records them, and answers by a script. */
export interface Receiver {
  /** Handles one delivery. The host plays the response. */
  readonly handle: (incoming: Incoming) => Effect.Effect<Respond>
  /** Replaces the valid secrets. */
  readonly trust: (...secrets: ReadonlyArray<string>) => void
  /** Replaces the script. */
  readonly play: (script: Script) => void
  /** All deliveries, in order of arrival. */
  readonly arrivals: () => ReadonlyArray<Arrival>
  /** The ids of the genuine events, in order of their first arrival. */
  readonly ids: () => ReadonlyArray<string>
  /** Waits until enough deliveries have arrived. */
  readonly until: (isEnough: (arrivals: ReadonlyArray<Arrival>) => boolean) => Effect.Effect<ReadonlyArray<Arrival>>
}

/**
 * A receiver of webhooks for tests: of this service, and of programs that depend on its webhooks.
 *
 * It opens no socket. `NodeReceiver` of `@quotewire/http/testing` puts it on a server; `layer` below plays it in memory.
 *
 * @example
 * const receiver = Receiver.make({ script: { in_order: [Receiver.fail(500), Receiver.hang] } })
 */
export const make = (options: Options = {}): Receiver => {
  const log = makeLog()
  let secrets = options.secrets ?? []
  let next = follow(options.script ?? {})

  const handle = Effect.fnUntraced(function* (incoming: Incoming) {
    const mac = yield* Mac.Mac
    const now_seconds = options.now_seconds?.() ?? Math.floor((yield* Clock.currentTimeMillis) / secondMs)
    const verification = yield* Signature.verify(mac, { ...incoming, secrets, now_seconds })
    const text = typeof incoming.body === "string" ? incoming.body : new TextDecoder().decode(incoming.body)
    const event = Option.getOrNull(readEvent(text))
    const respond = verification.ok ? next(event?.type ?? "") : answer(400)
    log.record({ ...incoming, text, event, verification, respond })
    return respond
  }, Effect.provide(webCrypto))

  return {
    handle,
    trust: (...trusted) => {
      secrets = trusted
    },
    play: (script) => {
      next = follow(script)
    },
    arrivals: log.arrivals,
    ids: () => [...new Set(log.arrivals().flatMap(({ verification }) => (verification.ok ? [verification.id] : [])))],
    until: log.until
  }
}

const webCrypto = Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))
const readEvent = Schema.decodeUnknownOption(Schema.fromJsonString(ReceivedEvent))

/** Makes a function that returns a script's responses, one for each delivery of a type. */
const follow = ({ by_type = {}, in_order = [], otherwise = succeed }: Script): ((type: string) => Respond) => {
  const ofType = new Map(Object.entries(by_type).map(([type, list]) => [type, list.values()]))
  const ofAll = in_order.values()
  return (type) => ofType.get(type)?.next().value ?? ofAll.next().value ?? otherwise
}

/** Records what has arrived, and who is waiting for more. */
const makeLog = () => {
  const arrivals: Array<Arrival> = []
  const waiting = new Set<() => void>()
  const ids = new Set<string>()
  const versions = new Map<string, number>()
  return {
    arrivals: (): ReadonlyArray<Arrival> => [...arrivals],
    record: (incoming: Omit<Arrival, "isDuplicate" | "isLate">): void => {
      const { verification, event } = incoming
      // Only genuine deliveries count for duplicates and versions.
      const resource = verification.ok ? event?.resource : undefined
      const newest = resource === undefined ? 0 : (versions.get(resource.id) ?? 0)
      arrivals.push({
        ...incoming,
        isDuplicate: verification.ok && ids.has(verification.id),
        isLate: resource !== undefined && resource.version < newest
      })
      if (verification.ok) ids.add(verification.id)
      if (resource !== undefined) versions.set(resource.id, Math.max(newest, resource.version))
      for (const look of [...waiting]) look()
    },
    until: (isEnough: (arrivals: ReadonlyArray<Arrival>) => boolean) =>
      Effect.callback<ReadonlyArray<Arrival>>((resume) => {
        const look = () => {
          if (!isEnough([...arrivals])) return
          waiting.delete(look)
          resume(Effect.succeed([...arrivals]))
        }
        waiting.add(look)
        look()
        return Effect.sync(() => waiting.delete(look))
      })
  }
}

/**
 * A sender that passes webhooks to receivers by URL, without a network: for tests with a test clock.
 *
 * Only URLs with a receiver count as public.
 */
export const layer = (receivers: Readonly<Record<string, Receiver>>): Layer.Layer<WebhookSender> =>
  Layer.succeed(WebhookSender, {
    lookUp: (url) => Effect.succeed(receivers[url] === undefined ? "refused" : "public"),
    send: Effect.fnUntraced(function* ({ url, headers, body, deadline_ms = defaultDeadlineMs }) {
      const receiver = receivers[url]
      if (receiver === undefined) return outcome(null, 0, "refused_address")
      const respond = yield* receiver.handle({ headers, body })
      const durationMs = Math.min(durationOf(respond), deadline_ms)
      yield* Effect.sleep(durationMs)
      const status = "status" in respond ? respond.status : null
      if (durationOf(respond) >= deadline_ms) return outcome(status, durationMs, "timeout")
      if (respond.does === "reset") return outcome(null, durationMs, "connection_failed")
      return outcome(status, durationMs, respond.does === "garbage" ? "bad_response" : null)
    })
  })

const outcome = (
  response_status_code: number | null,
  duration_ms: number,
  failure: SendOutcome["failure"]
): SendOutcome => ({ response_status_code, duration_ms, failure })

const durationOf = (respond: Respond): number => {
  if (respond.does === "hang") return Number.POSITIVE_INFINITY
  return respond.does === "drip" ? respond.pieces.length * respond.every_ms : 0
}
