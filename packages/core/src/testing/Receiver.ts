import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import * as Signature from "../webhooks/Signature.ts"
import { defaultDeadlineMs, type SendOutcome, WebhookSender } from "../webhooks/WebhookSender.ts"
import { secondMs } from "../wire/Timestamp.ts"

/** How a receiver responds to a delivery, as plain data. The in-memory receiver and the HTTP server carry it out. */
export type Respond =
  /** Responds immediately with a complete response. */
  | {
      readonly does: "answer"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** Sends the status and the headers, and then the body in pieces, one every `every_ms` milliseconds. */
  | {
      readonly does: "drip"
      readonly status: number
      readonly pieces: ReadonlyArray<string>
      readonly every_ms: number
    }
  /** Accepts the request, but never responds. */
  | { readonly does: "hang" }
  /** Closes the connection without a response. */
  | { readonly does: "reset" }
  /** Sends text that is not HTTP. */
  | { readonly does: "garbage"; readonly text: string }

const answer = (status: number, headers: Readonly<Record<string, string>> = {}, body = ""): Respond => ({
  does: "answer",
  status,
  headers,
  body
})

/** Confirms the delivery. */
export const succeed: Respond = answer(204)
/** Responds with a status such as 503, and optionally with headers such as `retry-after`. */
export const fail = (status: number, headers?: Readonly<Record<string, string>>): Respond =>
  answer(status, headers, "no")
/** Responds with a redirect, which is a failure. */
export const redirect = (location: string, status = 307): Respond => answer(status, { location })
/** Accepts the request, but never responds. */
export const hang: Respond = { does: "hang" }
/** Closes the connection without a response. */
export const reset: Respond = { does: "reset" }
/** Confirms the delivery, with a body that arrives piece by piece. */
export const slowBody = (pieces: number, every_ms: number, status = 200): Respond => ({
  does: "drip",
  status,
  pieces: Array.from({ length: pieces }, () => "."),
  every_ms
})
/** Sends text that is not HTTP. */
export const garbage: Respond = { does: "garbage", text: "This is not HTTP.\r\n\r\n" }

/**
 * Repeats a response several times, as part of a script.
 *
 * @example
 * Receiver.make({ script: { in_order: Receiver.times(3, Receiver.fail(503)) } })
 */
export const times = (count: number, respond: Respond): ReadonlyArray<Respond> =>
  Array.from({ length: count }, () => respond)

/** How the receiver responds to genuine deliveries. All other deliveries get 400. */
export interface Script {
  /** The responses for each event type. They are used in the order in which deliveries of that type arrive. */
  readonly by_type?: Readonly<Record<string, ReadonlyArray<Respond>>>
  /** The responses for deliveries of all other types, and for types whose list is used up, in order of arrival. */
  readonly in_order?: ReadonlyArray<Respond>
  /** The response for all remaining deliveries; `succeed` by default. */
  readonly otherwise?: Respond
}

/** Options for a receiver. */
export interface Options {
  /** The valid secrets. If you learn a secret only after you have created the receiver, use `trust`. */
  readonly secrets?: ReadonlyArray<string>
  /** Returns the time of the receiver's clock, in Unix seconds; by default the runtime's clock. */
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
/** The content of a body. Test events have no resource. */
export type ReceivedEvent = typeof ReceivedEvent.Type

/** A delivery that has arrived, and the result of verifying it. */
export interface Arrival extends Incoming {
  /** The body as text. */
  readonly text: string
  /** The event; null if the body is not an event. */
  readonly event: ReceivedEvent | null
  readonly verification: Signature.Verification
  /**
   * Whether a genuine delivery with this ID has arrived before. If so, this delivery is a retry, a replay or a
   * duplicate.
   */
  readonly isDuplicate: boolean
  /** Whether a genuine delivery with a newer version of the same resource has already arrived. */
  readonly isLate: boolean
  /** How the receiver responded. */
  readonly respond: Respond
}

/** Receives deliveries, verifies and records them, and responds according to a script. */
export interface Receiver {
  /** Handles one delivery, and returns the response for the in-memory receiver or the HTTP server to send. */
  readonly handle: (incoming: Incoming) => Effect.Effect<Respond>
  /** Replaces the valid secrets. */
  readonly trust: (...secrets: ReadonlyArray<string>) => void
  /** Replaces the script. */
  readonly play: (script: Script) => void
  /** All deliveries that have arrived, in order of arrival. */
  readonly arrivals: () => ReadonlyArray<Arrival>
  /** The IDs of genuine events, in the order of their first arrival. */
  readonly ids: () => ReadonlyArray<string>
  /** Waits until enough deliveries have arrived. */
  readonly until: (isEnough: (arrivals: ReadonlyArray<Arrival>) => boolean) => Effect.Effect<ReadonlyArray<Arrival>>
}

/**
 * Makes a receiver of webhooks for tests of this service, and of programs that depend on its webhooks.
 *
 * It opens no socket. `NodeReceiver` from `@quotewire/http/testing` serves it over HTTP; `layer` below uses it in
 * memory.
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

/** Makes a function that returns the script's next response for a delivery of a type. */
const follow = ({ by_type = {}, in_order = [], otherwise = succeed }: Script): ((type: string) => Respond) => {
  const ofType = new Map(Object.entries(by_type).map(([type, list]) => [type, list.values()]))
  const ofAll = in_order.values()
  return (type) => ofType.get(type)?.next().value ?? ofAll.next().value ?? otherwise
}

/** Makes a log of the deliveries that have arrived, and of the callers that wait for more. */
const makeLog = () => {
  const arrivals: Array<Arrival> = []
  const waiting = new Set<() => void>()
  const ids = new Set<string>()
  const versions = new Map<string, number>()
  return {
    arrivals: (): ReadonlyArray<Arrival> => [...arrivals],
    record: (incoming: Omit<Arrival, "isDuplicate" | "isLate">): void => {
      const { verification, event } = incoming
      // Only genuine deliveries are considered for duplicates and versions.
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
 * A sender that passes webhooks directly to receivers, by URL and without a network. It is for tests with a test clock.
 *
 * Only URLs that have a receiver are treated as public.
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
