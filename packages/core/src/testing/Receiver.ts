import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import * as Signature from "../webhooks/Signature.ts"
import { default_deadline_ms, type SendOutcome, WebhookSender } from "../webhooks/WebhookSender.ts"
import { second_ms } from "../wire/Timestamp.ts"

/** What a receiver does with a delivery. It is data, so that any host can play it. */
export type Respond =
  /** Answers at once, whole. */
  | {
      readonly does: "answer"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** Sends the status and the headers, and then the body in pieces: one every so many milliseconds. */
  | {
      readonly does: "drip"
      readonly status: number
      readonly pieces: ReadonlyArray<string>
      readonly every_ms: number
    }
  /** Takes the request, and never answers. */
  | { readonly does: "hang" }
  /** Breaks the connection off. */
  | { readonly does: "reset" }
  /** Answers with something that is not HTTP. */
  | { readonly does: "garbage"; readonly text: string }

const answer = (status: number, headers: Readonly<Record<string, string>> = {}, body = ""): Respond => ({
  does: "answer",
  status,
  headers,
  body
})

/** Confirms. */
export const succeed: Respond = answer(204)
/** Answers with a status, such as 503, and headers, such as `retry-after`. */
export const fail = (status: number, headers?: Readonly<Record<string, string>>): Respond =>
  answer(status, headers, "no")
/** Sends the delivery elsewhere, which counts as a failure. */
export const redirect = (to: string, status = 307): Respond => answer(status, { location: to })
/** Never answers. */
export const hang: Respond = { does: "hang" }
/** Breaks the connection off. */
export const reset: Respond = { does: "reset" }
/** Confirms, with a body that comes piece by piece. */
export const slowBody = (pieces: number, every_ms: number, status = 200): Respond => ({
  does: "drip",
  status,
  pieces: Array.from({ length: pieces }, () => "."),
  every_ms
})
/** Answers with something that is not HTTP. */
export const garbage: Respond = { does: "garbage", text: "This is no HTTP.\r\n\r\n" }

/**
 * The same thing so many times over, as part of a script.
 *
 * @example
 * Receiver.make({ script: { in_order: Receiver.times(3, Receiver.fail(503)) } })
 */
export const times = (count: number, respond: Respond): ReadonlyArray<Respond> =>
  Array.from({ length: count }, () => respond)

/** What genuine deliveries get. Those that are not genuine get 400, whatever the script says. */
export interface Script {
  /** One list for each type of event, taken in the order in which deliveries of that type come. */
  readonly by_type?: Readonly<Record<string, ReadonlyArray<Respond>>>
  /** For deliveries that no list of their type has anything for, in the order in which they come. */
  readonly in_order?: ReadonlyArray<Respond>
  /** For everything after that; `succeed` by default. */
  readonly otherwise?: Respond
}

/** How a receiver begins. */
export interface Options {
  /** The secrets that count. A secret is known only when the subscription is made: see `Receiver.trust`. */
  readonly secrets?: ReadonlyArray<string>
  /** The receiver's clock, in Unix seconds; the runtime's by default. */
  readonly now_seconds?: () => number
  readonly script?: Script
}

/** A delivery as a host has received it. */
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
/** What every body says; a test event names no resource. */
export type ReceivedEvent = typeof ReceivedEvent.Type

/** A delivery that came, and what was made of it. */
export interface Arrival extends Incoming {
  /** The body as text. */
  readonly text: string
  /** Null where the body is no event. */
  readonly event: ReceivedEvent | null
  readonly verification: Signature.Verification
  /** Whether a genuine delivery with this id came before: a retry, a replay, or a plain repetition. */
  readonly isDuplicate: boolean
  /** Whether a genuine delivery with a newer version of the same resource came before. */
  readonly isLate: boolean
  /** What it got. */
  readonly respond: Respond
}

/** Receives deliveries, verifies them, notes what came, and follows a script. */
export interface Receiver {
  /** Takes one delivery in; the host plays what it says. */
  readonly handle: (incoming: Incoming) => Effect.Effect<Respond>
  /** Counts these secrets from now on, and no others. */
  readonly trust: (...secrets: ReadonlyArray<string>) => void
  /** Follows another script from now on. */
  readonly play: (script: Script) => void
  /** Everything that came, in the order in which it came. */
  readonly arrivals: () => ReadonlyArray<Arrival>
  /** The identifiers of the genuine events, in the order in which each came first. */
  readonly ids: () => ReadonlyArray<string>
  /** Waits until what came is enough. */
  readonly until: (isEnough: (arrivals: ReadonlyArray<Arrival>) => boolean) => Effect.Effect<ReadonlyArray<Arrival>>
}

/**
 * A receiver of webhooks for tests: of this service, and of whatever hangs on its webhooks.
 *
 * It opens no socket. `NodeReceiver` of `@quotewire/http/testing` puts it on a server; `layer` below plays it in memory.
 *
 * @example
 * const receiver = Receiver.make({ script: { in_order: [Receiver.fail(500), Receiver.hang] } })
 */
export const make = (options: Options = {}): Receiver => {
  const book = makeBook()
  let secrets = options.secrets ?? []
  let next = follow(options.script ?? {})

  const handle = Effect.fnUntraced(function* (incoming: Incoming) {
    const mac = yield* Mac.Mac
    const now_seconds = options.now_seconds?.() ?? Math.floor((yield* Clock.currentTimeMillis) / second_ms)
    const verification = yield* Signature.verify(mac, { ...incoming, secrets, now_seconds })
    const text = typeof incoming.body === "string" ? incoming.body : new TextDecoder().decode(incoming.body)
    const event = Option.getOrNull(readEvent(text))
    const respond = verification.ok ? next(event?.type ?? "") : answer(400)
    book.note({ ...incoming, text, event, verification, respond })
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
    arrivals: book.arrivals,
    ids: () => [...new Set(book.arrivals().flatMap(({ verification }) => (verification.ok ? [verification.id] : [])))],
    until: book.until
  }
}

const webCrypto = Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))
const readEvent = Schema.decodeUnknownOption(Schema.fromJsonString(ReceivedEvent))

/** Gives what a script has for each delivery of a type. */
const follow = ({ by_type = {}, in_order = [], otherwise = succeed }: Script): ((type: string) => Respond) => {
  const ofType = new Map(Object.entries(by_type).map(([type, list]) => [type, list.values()]))
  const ofAll = in_order.values()
  return (type) => ofType.get(type)?.next().value ?? ofAll.next().value ?? otherwise
}

/** What came, and who waits for more. */
const makeBook = () => {
  const arrivals: Array<Arrival> = []
  const waiting = new Set<() => void>()
  const ids = new Set<string>()
  const versions = new Map<string, number>()
  return {
    arrivals: (): ReadonlyArray<Arrival> => [...arrivals],
    note: (came: Omit<Arrival, "isDuplicate" | "isLate">): void => {
      const { verification, event } = came
      // What is not genuine says nothing about what is.
      const resource = verification.ok ? event?.resource : undefined
      const newest = resource === undefined ? 0 : (versions.get(resource.id) ?? 0)
      arrivals.push({
        ...came,
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
 * A sender that hands webhooks to receivers by their URLs, without a network: for tests on a test clock.
 *
 * It takes only the URLs that have a receiver for public.
 */
export const layer = (receivers: Readonly<Record<string, Receiver>>): Layer.Layer<WebhookSender> =>
  Layer.succeed(WebhookSender, {
    lookUp: (url) => Effect.succeed(receivers[url] === undefined ? "refused" : "public"),
    send: Effect.fnUntraced(function* ({ url, headers, body, deadline_ms = default_deadline_ms }) {
      const receiver = receivers[url]
      if (receiver === undefined) return outcome(null, 0, "refused_address")
      const respond = yield* receiver.handle({ headers, body })
      const duration_ms = Math.min(durationOf(respond), deadline_ms)
      yield* Effect.sleep(duration_ms)
      const status = "status" in respond ? respond.status : null
      if (durationOf(respond) >= deadline_ms) return outcome(status, duration_ms, "timeout")
      if (respond.does === "reset") return outcome(null, duration_ms, "connection_failed")
      return outcome(status, duration_ms, respond.does === "garbage" ? "bad_response" : null)
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
