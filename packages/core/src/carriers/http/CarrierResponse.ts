import { Effect, Result } from "effect"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import * as Xml from "../../wire/Xml.ts"
import { secretsInHeaders } from "../secrets/Redaction.ts"
import * as SecretFinder from "../secrets/SecretFinder.ts"
import { type AnswerSchema, checkOf, shapeOf } from "./AnswerSchema.ts"
import { type CarrierHttpError, mismatch, notJson, notXml, type Target } from "./CarrierHttpError.ts"
import { decoderOf } from "./Charset.ts"
import { valueOf } from "./XmlBody.ts"

/** A carrier's response, without the methods that parse its body. */
export interface CarrierAnswer {
  readonly status: number
  /** The headers. Their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  /** The body, decoded in the character set of its `content-type` or its XML declaration; UTF-8 by default. */
  readonly text: string
}

/** A carrier's response, read completely. */
export interface CarrierResponse extends CarrierAnswer {
  /**
   * The body as JSON. If you pass a schema, the result is checked and typed, and fields that the schema does not know
   * are dropped.
   *
   * Throws a `CarrierHttpError` with the reason `unreadable_answer` if the body is not JSON or does not match the
   * schema.
   */
  json(): unknown
  json<A>(schema: AnswerSchema<A>): A
  /**
   * The body as XML: an object whose field is the root element. If you pass a schema, the result is checked and typed.
   *
   * An element becomes a field without its namespace prefix, an attribute becomes a field such as `@code`, and text
   * beside attributes becomes the field `#text`. All values are strings. Where the schema has a list, you get a list,
   * even for a single element or no element.
   *
   * Throws a `CarrierHttpError` with the reason `unreadable_answer` if the body is not XML, has a DOCTYPE, or does not
   * match the schema.
   */
  xml(): unknown
  xml<A>(schema: AnswerSchema<A>): A
}

/**
 * A carrier's response for adapters written with Effect: `json` and `xml` return Effects that fail instead of throwing.
 */
export interface EffectCarrierResponse extends CarrierAnswer {
  json(): Effect.Effect<unknown, CarrierHttpError>
  json<A>(schema: AnswerSchema<A>): Effect.Effect<A, CarrierHttpError>
  xml(): Effect.Effect<unknown, CarrierHttpError>
  xml<A>(schema: AnswerSchema<A>): Effect.Effect<A, CarrierHttpError>
}

/** A response as it was received. */
export interface ReceivedResponse {
  readonly target: Target
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  /** The headers of the request. No message may repeat the credentials in them. */
  readonly sent: Readonly<Record<string, string>>
}

class Answer implements CarrierAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  readonly #target: Target
  readonly #sent: ReceivedResponse["sent"]

  constructor({ target, status, headers, bytes, sent }: ReceivedResponse) {
    this.#target = target
    this.#sent = sent
    this.status = status
    this.headers = headers
    this.bytes = bytes
  }

  get text(): string {
    return decoderOf(this.headers["content-type"], this.bytes).decode(this.bytes)
  }

  protected read(format: Format, schema?: AnswerSchema<unknown>): Result.Result<unknown, CarrierHttpError> {
    const check = schema === undefined ? Result.succeed : checkOf(schema, format)
    return Result.flatMap(this.#parsed(format, schema), (value) =>
      Result.mapError(check(value), (findings) => mismatch(this.#target, this.status, rulesOf(findings, this.#sent)))
    )
  }

  #parsed(format: Format, schema: AnswerSchema<unknown> | undefined): Result.Result<unknown, CarrierHttpError> {
    if (format === "xml") {
      return Xml.parse(this.text).pipe(
        Result.map((root) => valueOf(root, schema && shapeOf(schema))),
        Result.mapError(({ message }) => notXml(this.#target, this.status, message))
      )
    }
    return Result.try({
      try: (): unknown => JSON.parse(this.text),
      catch: () => notJson(this.#target, this.status)
    })
  }
}

/** The formats in which a body can be read. */
type Format = "json" | "xml"

/** A response whose `json` and `xml` methods throw errors. */
export class ThrowingAnswer extends Answer implements CarrierResponse {
  json(): unknown
  json<A>(schema: AnswerSchema<A>): A
  json(schema?: AnswerSchema<unknown>): unknown {
    return Result.getOrThrow(this.read("json", schema))
  }

  xml(): unknown
  xml<A>(schema: AnswerSchema<A>): A
  xml(schema?: AnswerSchema<unknown>): unknown {
    return Result.getOrThrow(this.read("xml", schema))
  }
}

/** A response whose `json` and `xml` methods return Effects that can fail. */
export class FailingAnswer extends Answer implements EffectCarrierResponse {
  json(): Effect.Effect<unknown, CarrierHttpError>
  json<A>(schema: AnswerSchema<A>): Effect.Effect<A, CarrierHttpError>
  json(schema?: AnswerSchema<unknown>): Effect.Effect<unknown, CarrierHttpError> {
    return Effect.suspend(() => Effect.fromResult(this.read("json", schema)))
  }

  xml(): Effect.Effect<unknown, CarrierHttpError>
  xml<A>(schema: AnswerSchema<A>): Effect.Effect<A, CarrierHttpError>
  xml(schema?: AnswerSchema<unknown>): Effect.Effect<unknown, CarrierHttpError> {
    return Effect.suspend(() => Effect.fromResult(this.read("xml", schema)))
  }
}

/** The maximum number of broken rules in a message. */
const maxRules = 5

/**
 * Matches a path of ordinary identifiers. Any other path could contain a key from the carrier's data, so it is omitted.
 */
const safePath = /^[@#]?[A-Za-z_][\w:-]{0,63}(?:\.(?:[@#]?[A-Za-z_][\w:-]{0,63}|\d{1,4}))*$/

const rulesOf = (findings: ReadonlyArray<BrokenRule>, sent: ReceivedResponse["sent"]): ReadonlyArray<BrokenRule> => {
  const { without } = SecretFinder.make(secretsInHeaders(sent))
  return findings
    .slice(0, maxRules)
    .map(({ path, message }) => ({ path: safePath.test(path) ? without(path) : "", message: without(message) }))
}
