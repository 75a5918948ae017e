import { Clock, Data, Effect, Option, Predicate, Result, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { ConnectionValues } from "../carriers/Carrier.ts"
import { CurrentRequest } from "../carriers/http/SentRequest.ts"
import { anyValueOf } from "../carriers/http/XmlBody.ts"
import { HttpList } from "../carriers/recorder/ExchangeDraft.ts"
import * as HttpRecording from "../carriers/recorder/HttpRecording.ts"
import * as Redaction from "../carriers/secrets/Redaction.ts"
import { fromFieldError, ruleText } from "../wire/BrokenRule.ts"
import * as Input from "../wire/Input.ts"
import { canonical } from "../wire/Json.ts"
import { fromMillis, OffsetDateTime } from "../wire/Timestamp.ts"
import * as Xml from "../wire/Xml.ts"
import { standInToken } from "./standInToken.ts"

/*
 * A cassette contains responses from a carrier's sandbox. They are recorded once, and replayed in tests without a
 * network.
 */

/** A redacted body; null if the body was not recorded. The text is empty if there was no body. */
const Body = Schema.NullOr(
  Schema.Union([
    Schema.Struct({ json: Schema.Unknown }),
    Schema.Struct({ xml: Schema.String }),
    Schema.Struct({ text: Schema.String })
  ])
)
type Body = typeof Body.Type

/** A request and its response, without secrets or redacted values. */
export const Exchange = Schema.Struct({
  method: Schema.String,
  host: Schema.String,
  /** The path and the names of the query parameters, without their values. */
  path: Schema.String,
  request: Schema.Struct({ body: Body }),
  response: Schema.Struct({
    status: Input.wholeNumber(200, 599),
    /** Only headers that are harmless to record, so never cookies. */
    headers: Schema.Record(Schema.String, Schema.String),
    body: Body
  })
})
export type Exchange = typeof Exchange.Type

/** The maximum number of recorded exchanges. */
export const maxExchanges = 1_000

/** A cassette as plain JSON. The exchanges are in the order in which the requests were sent. */
export const Cassette = Schema.Struct({
  version: Schema.Literal(1),
  /**
   * When the cassette was recorded, in real time. Replays run as of this time, because the recorded offers may have
   * expired since.
   */
  recorded_at: OffsetDateTime,
  /** The connection values that are not secrets. With them, a replay makes the same requests as the recording. */
  connection: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  exchanges: Schema.Array(Exchange).check(Schema.isMaxLength(maxExchanges))
}).annotate({ identifier: "Cassette" })
export type Cassette = typeof Cassette.Type

/** An invalid cassette. The message names each mistake by its path, and repeats no value. */
export class InvalidCassette extends Data.TaggedError("InvalidCassette")<{ readonly message: string }> {}

/** A request that the cassette cannot answer. The message says which request, what was expected, and what to do. */
export class NotOnCassette extends Data.TaggedError("NotOnCassette")<{
  readonly method: string
  readonly host: string
  readonly path: string
  readonly message: string
}> {}

/** A recorded connection value that contains a secret. The message names its field and does not repeat the value. */
export class SecretOnCassette extends Data.TaggedError("SecretOnCassette")<{ readonly message: string }> {}

/** A recording that could not be played back. The message names the exchange and the reason, and says what to do. */
export class UnplayableRecording extends Data.TaggedError("UnplayableRecording")<{ readonly message: string }> {}

const isCassette = Schema.is(Cassette)
const findWrong = Input.findings(Cassette)

/** Reads the parsed JSON of a cassette file. Throws an `InvalidCassette` if the JSON is not a cassette. */
export const parse = (json: unknown): Cassette => {
  if (isCassette(json)) return json
  const mistakes = findWrong(json).map((error) => ruleText(fromFieldError(error)))
  throw new InvalidCassette({ message: ["This is not a cassette.", ...mistakes.slice(0, maxTold)].join(" ") })
}

/** The maximum number of mistakes, requests or fields in a message. */
const maxTold = 5

/** Writes a cassette file as indented JSON, so that diffs are readable. */
export const text = (cassette: Cassette): string => `${JSON.stringify(cassette, null, 2)}\n`

/** A recording transport, and what it has recorded. */
export interface Recording {
  readonly transport: HttpClient.HttpClient
  /**
   * The recording so far. Fails if the recording could not be played back, or if a connection value contains a secret.
   * Do not write such a recording to a file.
   */
  readonly cassette: Effect.Effect<Cassette, SecretOnCassette | UnplayableRecording>
}

/**
 * Makes a transport that sends through `transport`, and records each answered request. Like the service's own
 * recordings, a cassette contains no secrets and none of the values that the adapter lists in `redact`.
 *
 * Token requests and request headers are not recorded. A response is recorded when the adapter has read it. A recording
 * with more than `maxExchanges` exchanges, or with a response that cannot be recorded, is refused, because it could not
 * be played back. Of the connection's values, only those that the adapter declares as `string` are recorded.
 *
 * @example
 * const recording = yield* Cassette.record(yield* CarrierTransport, acme, connection)
 * yield* Effect.provideService(acme.ask(ask), CarrierTransport, recording.transport)
 * const file = Cassette.text(yield* recording.cassette)
 */
export const record = (
  transport: HttpClient.HttpClient,
  adapter: Redaction.Declared,
  connection: ConnectionValues = {}
): Effect.Effect<Recording> =>
  Effect.map(Clock.currentTimeMillis, (recordedAt) => {
    const publicValues = Object.entries(connection).filter(([field]) => adapter.connection?.[field] === "string")
    const list = new HttpList(maxExchanges)
    const recorder = list.recording(transport)
    return {
      transport: HttpClient.transform(recorder, (call, request) =>
        CurrentRequest.use((exchange) => (exchange?.purpose === "token" ? transport.execute(request) : call))
      ),
      cassette: Effect.suspend((): Effect.Effect<Cassette, SecretOnCassette | UnplayableRecording> => {
        const redaction = Redaction.redactionAfter(adapter, connection, list.exchanges)
        const [secretName] = publicValues.find(([, value]) => redaction.secrets.isIn(value)) ?? []
        if (secretName !== undefined) return Effect.fail(secretInConnection(secretName))
        if (list.left_out > 0) return Effect.fail(new UnplayableRecording({ message: tooMany }))
        const exchanges = list.exchanges.flatMap((http) => exchangeOf(http, redaction))
        const unrecorded = exchanges.find(({ response }) => response.body === null)
        if (unrecorded !== undefined) return Effect.fail(unplayable(unrecorded, list.exchanges))
        return Effect.succeed({
          version: 1,
          recorded_at: fromMillis(recordedAt),
          ...(publicValues.length > 0 && { connection: Object.fromEntries(publicValues) }),
          exchanges
        })
      })
    }
  })

const tooMany = `The adapter sent more than ${maxExchanges} requests, the most that a cassette holds. Record fewer asks.`

const unplayable = (
  { host, method, path }: Exchange,
  exchanges: ReadonlyArray<HttpRecording.RawHttp>
): UnplayableRecording => {
  const [mismatch = ""] = exchanges.flatMap((http) => {
    const body = http.response?.body?.text
    return body === undefined || !http.is_seen ? [] : whyNotKept(body, http.response?.content_type ?? null)
  })
  const message = `The answer to ${method} ${path} at ${host} cannot be stored, so the recording could not be played back. ${mismatch}`
  return new UnplayableRecording({ message })
}

const whyNotKept = (body: string | null, contentType: string | null): ReadonlyArray<string> => {
  if (body === null) {
    return [
      `The answer has more than ${Redaction.maxReadCharacters} characters. Request less data from the carrier, or test without a cassette.`
    ]
  }
  const keep =
    "If the answer may be stored verbatim, set http.keeps_text_bodies (in a handwritten adapter, keeps_text_bodies), and record again."
  if (Redaction.isXml(body, contentType)) {
    return Result.match(Xml.parse(body), { onSuccess: () => [], onFailure: ({ message }) => [`${message} ${keep}`] })
  }
  if (Redaction.isForm(contentType))
    return ["The answer is a form, and form values are never stored. Test without a cassette."]
  return Option.isSome(parseJson(body))
    ? ["The answer is nested too deeply. Request less data from the carrier, or test without a cassette."]
    : [`The answer is neither JSON nor XML. ${keep}`]
}

const secretInConnection = (field: string): SecretOnCassette =>
  new SecretOnCassette({
    message: `The value of ${field} contains a secret, but the connection declares it as a string. Declare it as a secret, and record again.`
  })

const textOf = (body: Body): string => {
  if (body === null) return ""
  if ("xml" in body) return body.xml
  return "json" in body ? JSON.stringify(body.json) : body.text
}

/** The redacted body to record. `received` is null if the body is too long or not text. */
const bodyOf = (received: string | null, contentType: string | null, redaction: Redaction.Redaction): Body => {
  if (received === "") return { text: received }
  const redacted = received === null ? null : Redaction.bodyOf(received, contentType, redaction)
  if (redacted === null) return null
  if (Redaction.isXml(received ?? "", contentType) && Result.isSuccess(Xml.parse(redacted))) return { xml: redacted }
  return Option.match(parseJson(redacted), {
    onNone: () => ({ text: redacted }),
    onSome: ({ value: json }) => ({ json })
  })
}

const parseJson = Option.liftThrowable((json: string): { readonly value: unknown } => ({ value: JSON.parse(json) }))

const exchangeOf = (
  { is_seen, method, request, response, status, url }: HttpRecording.RawHttp,
  redaction: Redaction.Redaction
): ReadonlyArray<Exchange> => {
  if (status === null || response === null) return []
  const received = response.body === null ? "" : response.body.text
  // The values in a form are never recorded, so an adapter could not read them from a cassette.
  const isLost = received !== "" && Redaction.isForm(response.content_type)
  const body = isLost ? null : bodyOf(received, response.content_type, redaction)
  return [
    {
      method,
      ...Redaction.address(url, redaction.secrets),
      request: { body: bodyOf(request.body?.text ?? null, request.content_type, redaction) },
      response: {
        status,
        headers: Redaction.headersOf(response.headers, redaction),
        body: body ?? (is_seen ? null : { text: "" })
      }
    }
  ]
}

/** A transport that answers from a cassette, and the requests that it could not answer. */
export interface Replay {
  readonly transport: HttpClient.HttpClient
  /** The requests that could not be answered. Check this as well, because an adapter may catch the error. */
  readonly missing: ReadonlyArray<NotOnCassette>
}

/** Options for a replay. */
export interface ReplayOptions {
  /**
   * What must match besides the method, host and path: the body (`bodies`, the default), or nothing else (`places`). Use
   * `places` for asks whose references or facts differ from the recording.
   */
  readonly compares?: "bodies" | "places"
}

/**
 * Makes a transport that answers from a cassette and sends nothing.
 *
 * A request gets the next recorded response to a request with the same method, host, path and body, compared after
 * redaction. A token request gets a stand-in token. Any other request dies with `NotOnCassette`.
 *
 * @example
 * const { transport } = Cassette.replay(Cassette.parse(JSON.parse(file)), acme)
 * yield* Effect.provideService(acme.ask(ask), CarrierTransport, transport)
 */
export const replay = (
  cassette: Cassette,
  adapter: Redaction.Declared,
  connection?: ConnectionValues,
  { compares = "bodies" }: ReplayOptions = {}
): Replay => {
  const unused = [...cassette.exchanges]
  const missing: Array<NotOnCassette> = []
  const refuse = (request: RequestedExchange, reason: string) => {
    const error = notOnCassette(request, reason)
    if (missing.length < maxExchanges) missing.push(error)
    return Effect.die(error)
  }
  const transport = HttpClient.make((request, url) =>
    CurrentRequest.use((exchange) => {
      if (exchange?.purpose === "token") return Effect.succeed(standInToken(request))
      const requested = askedOf(request, url, (sentRequest) =>
        Redaction.redactionAfter(adapter, connection, [sentRequest])
      )
      const isAnswer = compares === "bodies" ? isAnswerTo : isSamePlace
      const index = unused.findIndex((recorded) => isAnswer(recorded, requested))
      const [recordedExchange] = index < 0 ? [] : unused.splice(index, 1)
      if (recordedExchange === undefined) return refuse(requested, whyMissing(cassette, unused, requested))
      const { body, headers, status } = recordedExchange.response
      if (body === null) return refuse(requested, notKept)
      // Some statuses, such as 204, do not allow a body.
      const response = new Response(textOf(body) === "" ? null : textOf(body), { status, headers: inUtf8(headers) })
      return Effect.succeed(HttpClientResponse.fromWeb(request, response))
    })
  )
  return { transport, missing }
}

/** The headers with the character set changed to UTF-8, because recorded bodies are text. */
const inUtf8 = (headers: Exchange["response"]["headers"]) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/(charset\s*=\s*)"?[\w.:-]+"?/i, "$1utf-8")])
  )

/** The parts of a request that are compared. */
interface RequestedExchange extends Pick<Exchange, "method" | "host" | "path"> {
  readonly body: Body
}

const askedOf = (
  request: HttpClientRequest.HttpClientRequest,
  requestedUrl: URL,
  redactionFor: (sent: Redaction.SentMessage) => Redaction.Redaction
): RequestedExchange => {
  const url = Option.getOrElse(HttpClientRequest.toUrl(request), () => requestedUrl)
  const body = HttpRecording.bodyOf(request)
  const content_type = request.headers["content-type"] ?? null
  const redaction = redactionFor({ direction: "sent", url, request: { headers: request.headers, content_type, body } })
  return {
    method: request.method,
    ...Redaction.address(url, redaction.secrets),
    body: bodyOf(body.text, content_type, redaction)
  }
}

const isSamePlace = (recorded: Exchange, { host, method, path }: RequestedExchange): boolean =>
  recorded.method === method && recorded.host === host && recorded.path === path

const isAnswerTo = (recorded: Exchange, request: RequestedExchange): boolean =>
  isSamePlace(recorded, request) && canonical(recorded.request.body) === canonical(request.body)

const whyMissing = ({ exchanges }: Cassette, unused: ReadonlyArray<Exchange>, request: RequestedExchange): string => {
  if (exchanges.some((recorded) => isAnswerTo(recorded, request))) {
    return "The adapter sends this request more often than the cassette contains it. Record the cassette again."
  }
  const samePlace = unused.find((recorded) => isSamePlace(recorded, request))
  if (samePlace !== undefined) {
    const paths = differences(jsonOf(samePlace.request.body), jsonOf(request.body))
    const location = paths.length === 0 ? "" : `, which differs at ${paths.slice(0, maxTold).join(", ")}`
    return `The cassette expects a different body${location}. Use the recorded facts, record the cassette again, or add values that change on each run, such as a time, to \`redact\`.`
  }
  const expected = unused.slice(0, maxTold).map(({ method, path }) => `${method} ${path}`)
  return `The cassette does not contain this request. It expects ${expected.join(", ") || "no more requests"} next. Record the cassette again.`
}

const jsonOf = (body: Body): unknown => {
  if (body === null) return null
  if ("xml" in body) return Result.match(Xml.parse(body.xml), { onFailure: () => body.xml, onSuccess: anyValueOf })
  return "json" in body ? body.json : body.text
}

/** The paths at which two JSON values differ. The values are omitted, because they can be facts. */
const differences = (a: unknown, b: unknown, path = ""): ReadonlyArray<string> => {
  if (canonical(a) === canonical(b)) return []
  if (!Predicate.isObjectOrArray(a) || !Predicate.isObjectOrArray(b)) return path === "" ? [] : [path]
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((name) =>
    differences(left.get(name), right.get(name), path === "" ? name : `${path}.${name}`)
  )
}

const notKept = "The cassette has no answer to this request. Record the cassette again."

const notOnCassette = ({ host, method, path }: RequestedExchange, reason: string): NotOnCassette =>
  new NotOnCassette({ method, host, path, message: `${method} ${path} at ${host}: ${reason}` })
