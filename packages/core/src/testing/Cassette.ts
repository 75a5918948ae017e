import { Clock, Data, Effect, Option, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { CurrentExchange } from "../carriers/http/Exchange.ts"
import * as RecordedTransport from "../carriers/recorder/RecordedTransport.ts"
import * as Redaction from "../carriers/recorder/Redaction.ts"
import * as Input from "../wire/Input.ts"
import { fromMillis, OffsetDateTime } from "../wire/Timestamp.ts"
import { standInToken } from "./carrier/transports.ts"

/*
 * A cassette: what a carrier's sandbox has said, recorded once and replayed in tests without a network.
 */

/** A request that was sent, and its answer. Secrets and redacted values are not in it. */
export const TapedExchange = Schema.Struct({
  method: Schema.String,
  host: Schema.String,
  /** The path, and the names of the query's parameters without their values. */
  path: Schema.String,
  request: Schema.Struct({
    /** The redacted body, empty if there was none; null if it is not kept. */
    body: Schema.NullOr(Schema.String)
  }),
  response: Schema.Struct({
    status: Input.wholeNumber(200, 599),
    /** Only harmless headers: never cookies. */
    headers: Schema.Record(Schema.String, Schema.String),
    /** The redacted body, empty if there was none; null if it is not kept. */
    body: Schema.NullOr(Schema.String)
  })
})
export type TapedExchange = typeof TapedExchange.Type

/** At most this many exchanges are on a tape. */
export const max_exchanges = 1_000

/** A tape as plain JSON. Decode a file with this schema before you replay it. */
export const Tape = Schema.Struct({
  version: Schema.Literal(1),
  /** When it was recorded, in real time. Offers on it may have expired since, so replays ask as of this time. */
  recorded_at: OffsetDateTime,
  exchanges: Schema.Array(TapedExchange).check(Schema.isMaxLength(max_exchanges))
}).annotate({ identifier: "CassetteTape" })
export type Tape = typeof Tape.Type

/**
 * What is left out of a tape. An adapter has the first two, so you can pass it.
 *
 * Replay with the same options, because requests are compared after redaction.
 */
export interface Options {
  /** Paths of values in JSON bodies, such as `applicant` or `drivers.*.name`. Fields named like secrets always are left out. */
  readonly redact?: ReadonlyArray<string>
  /** Whether bodies that are not JSON are kept as they are; by default they are left out, and cannot be replayed. */
  readonly keeps_text_bodies?: boolean
  /** Texts that are left out wherever they are, such as the values of the connection. */
  readonly secrets?: ReadonlyArray<string>
}

/** A request cannot be answered from the tape. The message names its method and path, and says what to do. */
export class NotOnTape extends Data.TaggedError("NotOnTape")<{
  readonly method: string
  readonly host: string
  readonly path: string
  readonly message: string
}> {}

/** A transport that records, and what it has recorded so far. */
export interface Recording {
  readonly transport: HttpClient.HttpClient
  /** When it began, in milliseconds of real time. */
  readonly recorded_at: number
  readonly tape: () => Tape
}

/**
 * Sends as `transport` does, and records each answered request.
 *
 * Requests for tokens and headers of requests are not recorded. A response is recorded when the adapter has read it. Above
 * `max_exchanges`, requests are sent but not recorded.
 *
 * @example
 * const recording = yield* Cassette.record(yield* CarrierTransport, acme)
 * yield* Effect.provideService(ask, CarrierTransport, recording.transport)
 * const file = JSON.stringify(recording.tape())
 */
export const record = (transport: HttpClient.HttpClient, options: Options = {}): Effect.Effect<Recording> =>
  Effect.map(Clock.currentTimeMillis, (recorded_at) => {
    const redaction = redactionOf(options)
    const exchanges: Array<RecordedTransport.RawHttp> = []
    const recorder = RecordedTransport.make(transport, (begun) => {
      if (exchanges.length >= max_exchanges) return () => {}
      const index = exchanges.push(begun) - 1
      return (known) => {
        exchanges[index] = { ...(exchanges[index] ?? begun), ...known }
      }
    })
    return {
      recorded_at,
      transport: HttpClient.transform(recorder, (call, request) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          exchange?.purpose === "token" ? transport.execute(request) : call
        )
      ),
      tape: () => ({
        version: 1,
        recorded_at: fromMillis(recorded_at),
        exchanges: exchanges.flatMap((http) => tapedOf(http, redaction))
      })
    }
  })

const redactionOf = ({ keeps_text_bodies = false, redact = [], secrets = [] }: Options): Redaction.Redaction => ({
  paths: redact,
  keeps_text: keeps_text_bodies,
  secrets
})

const bodyOf = (text: string | null, content_type: string | null, redaction: Redaction.Redaction): string | null =>
  text === null || text === "" ? text : Redaction.bodyOf(text, content_type, redaction)

const tapedOf = (
  { method, request, response, status, url }: RecordedTransport.RawHttp,
  redaction: Redaction.Redaction
): ReadonlyArray<TapedExchange> => {
  if (status === null || response === null) return []
  const text = response.body === null ? "" : response.body.text
  return [
    {
      method,
      ...Redaction.address(url, redaction),
      request: { body: bodyOf(request.body?.text ?? null, request.content_type, redaction) },
      response: {
        status,
        headers: Redaction.headersOf(response.headers, redaction),
        body: bodyOf(text, response.content_type, redaction)
      }
    }
  ]
}

/**
 * A transport that answers from a tape. Nothing is sent.
 *
 * A request gets the next answer with the same method, host, path and redacted body. Requests for tokens get a stand-in. Any
 * other request dies with `NotOnTape`.
 *
 * @example
 * const tape = yield* Schema.decodeUnknownEffect(Cassette.Tape)(JSON.parse(file))
 * yield* Effect.provideService(ask, CarrierTransport, Cassette.replay(tape, acme))
 */
export const replay = (tape: Tape, options: Options = {}): HttpClient.HttpClient => {
  const redaction = redactionOf(options)
  const left = [...tape.exchanges]
  return HttpClient.make((request, url) =>
    Effect.flatMap(CurrentExchange, (exchange) => {
      if (exchange?.purpose === "token") return Effect.succeed(standInToken(request))
      const asked = keyOf(request, url, redaction)
      const index = left.findIndex((taped) => isAnswerTo(taped, asked))
      const [found] = index < 0 ? [] : left.splice(index, 1)
      if (found === undefined) return Effect.die(notOnTape(asked, whyMissing(tape, asked)))
      const { body, headers, status } = found.response
      if (body === null) return Effect.die(notOnTape(asked, not_kept))
      // Some statuses, such as 204, must have no body at all.
      const response = new Response(body === "" ? null : body, { status, headers })
      return Effect.succeed(HttpClientResponse.fromWeb(request, response))
    })
  )
}

interface Key extends Pick<TapedExchange, "method" | "host" | "path"> {
  readonly body: string | null
}

const keyOf = (request: HttpClientRequest.HttpClientRequest, url: URL, redaction: Redaction.Redaction): Key => ({
  method: request.method,
  ...Redaction.address(
    Option.getOrElse(HttpClientRequest.toUrl(request), () => url),
    redaction
  ),
  body: bodyOf(RecordedTransport.bodyOf(request).text, request.headers["content-type"] ?? null, redaction)
})

const isSamePlace = (taped: TapedExchange, { host, method, path }: Key): boolean =>
  taped.method === method && taped.host === host && taped.path === path

const isAnswerTo = (taped: TapedExchange, asked: Key): boolean =>
  isSamePlace(taped, asked) && taped.request.body === asked.body

const whyMissing = ({ exchanges }: Tape, asked: Key): string => {
  if (exchanges.some((taped) => isAnswerTo(taped, asked))) {
    return "The adapter sends this request more often than when the tape was recorded. Record it again."
  }
  return exchanges.some((taped) => isSamePlace(taped, asked))
    ? "The tape has this request only with another body. Record it again, or add what changes, such as a date, to redact."
    : "The tape does not have this request. Record it again."
}

const not_kept =
  "Its answer was not kept, because it is not JSON or too long. Set keeps_text_bodies if the body may be kept, and record again."

const notOnTape = ({ host, method, path }: Key, why: string): NotOnTape =>
  new NotOnTape({ method, host, path, message: `${method} ${path} at ${host}: ${why}` })
