import { Effect, Result, Schema } from "effect"
import type { BrokenRule } from "../../wire/BrokenRule.ts"
import * as Input from "../../wire/Input.ts"
import { type CarrierHttpError, mismatch, notJson, type Target } from "./CarrierHttpError.ts"

/** A carrier's answer, without `json`. */
export interface CarrierAnswer {
  readonly status: number
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  /** The body in the character set that its `content-type` names; UTF-8 by default. */
  readonly text: string
}

/** A carrier's answer, read completely. */
export interface CarrierResponse extends CarrierAnswer {
  /**
   * The body as JSON, checked and typed if you give a schema. Fields that the schema does not know are dropped.
   *
   * Throws a `CarrierHttpError` with the reason `unreadable_answer` if the body is not JSON or does not match.
   */
  json(): unknown
  json<A>(schema: Schema.Decoder<A>): A
}

/** A carrier's answer for adapters written with Effect: `json` fails instead of throwing. */
export interface EffectCarrierResponse extends CarrierAnswer {
  json(): Effect.Effect<unknown, CarrierHttpError>
  json<A>(schema: Schema.Decoder<A>): Effect.Effect<A, CarrierHttpError>
}

/** An answer as it was received. */
export interface Received {
  readonly target: Target
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
}

class Answer implements CarrierAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  readonly #target: Target

  constructor({ target, status, headers, bytes }: Received) {
    this.#target = target
    this.status = status
    this.headers = headers
    this.bytes = bytes
  }

  get text(): string {
    return decoderOf(this.headers["content-type"]).decode(this.bytes)
  }

  protected read(schema: Schema.Decoder<unknown> = Schema.Unknown): Result.Result<unknown, CarrierHttpError> {
    return Result.flatMap(this.parsed(), (json) =>
      Result.mapError(Schema.decodeUnknownResult(schema)(json), () =>
        mismatch(this.#target, this.status, rulesOf(Input.findings(schema)(json)))
      )
    )
  }

  private parsed(): Result.Result<unknown, CarrierHttpError> {
    return Result.try({
      try: (): unknown => JSON.parse(this.text),
      catch: () => notJson(this.#target, this.status)
    })
  }
}

/** An answer whose `json` throws. */
export class ThrowingAnswer extends Answer implements CarrierResponse {
  json(): unknown
  json<A>(schema: Schema.Decoder<A>): A
  json(schema?: Schema.Decoder<unknown>): unknown {
    return Result.getOrThrow(this.read(schema))
  }
}

/** An answer whose `json` fails. */
export class FailingAnswer extends Answer implements EffectCarrierResponse {
  json(): Effect.Effect<unknown, CarrierHttpError>
  json<A>(schema: Schema.Decoder<A>): Effect.Effect<A, CarrierHttpError>
  json(schema?: Schema.Decoder<unknown>): Effect.Effect<unknown, CarrierHttpError> {
    return Effect.suspend(() => Effect.fromResult(this.read(schema)))
  }
}

const decoderOf = (content_type = ""): TextDecoder => {
  const [, charset] = /charset\s*=\s*"?([\w.:-]+)/i.exec(content_type) ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** How many broken rules a message lists. */
const max_rules = 5

/** A path of names as programs write them. Any other name can come from a record of the carrier, and is left out. */
const told = /^[A-Za-z_]\w{0,63}(?:\.(?:[A-Za-z_]\w{0,63}|\d{1,4}))*$/

const rulesOf = (findings: ReadonlyArray<BrokenRule>): ReadonlyArray<BrokenRule> =>
  findings.slice(0, max_rules).map(({ path, message }) => ({ path: told.test(path) ? path : "", message }))
