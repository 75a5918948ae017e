import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Environment } from "../../access/Caller.ts"
import type { ConnectionValues } from "../Carrier.ts"
import { CarrierTransport } from "../CarrierTransport.ts"
import { CarrierHttpError } from "./CarrierHttpError.ts"
import type { CarrierHttpOptions } from "./CarrierHttpOptions.ts"

interface Sent {
  readonly json?: unknown
}
interface CarrierResponse {
  readonly status: number
  readonly text: string
  json(): unknown
  json<A>(schema: Schema.Decoder<A>): A
}

/** The HTTP client of an adapter during one call of it. STAND-IN: replaced on merge. */
export interface CarrierHttp {
  readonly request: (method: "GET" | "POST", path: string, options?: Sent) => Promise<CarrierResponse>
  readonly get: (path: string, options?: Sent) => Promise<CarrierResponse>
  readonly post: (path: string, options?: Sent) => Promise<CarrierResponse>
}

/** Makes a client. STAND-IN: replaced on merge. */
export const make = (
  { base_url }: CarrierHttpOptions,
  {
    environment,
    signal
  }: {
    readonly environment: Environment
    readonly connection: ConnectionValues
    readonly timeout_ms: number
    readonly idempotent: boolean
    readonly signal?: AbortSignal
  }
): Effect.Effect<CarrierHttp> =>
  Effect.map(CarrierTransport, (client) => {
    const base = typeof base_url === "string" ? base_url : base_url[environment]
    const request: CarrierHttp["request"] = (method, path, { json } = {}) => {
      const plain = HttpClientRequest.make(method)(base + path)
      const sent = json === undefined ? plain : HttpClientRequest.bodyJsonUnsafe(plain, json)
      const call = Effect.gen(function* () {
        const { status, headers, text } = yield* client.execute(sent)
        const body = yield* text
        if (status < 400) return { status, text: body, json: jsonOf(body) }
        const reason = status === 429 ? "rate_limited" : "carrier_error"
        const seconds = Number(headers["retry-after"])
        const retry_after_ms = Number.isNaN(seconds) ? null : seconds * 1_000
        return yield* new CarrierHttpError({
          reason,
          status,
          retry_after_ms,
          code: `HTTP_${status}`,
          message: "failed"
        })
      })
      return Effect.runPromise(call, signal === undefined ? {} : { signal })
    }
    return {
      request,
      get: (path, sent) => request("GET", path, sent),
      post: (path, sent) => request("POST", path, sent)
    }
  })

const jsonOf = (body: string): CarrierResponse["json"] => {
  function json(): unknown
  function json<A>(schema: Schema.Decoder<A>): A
  function json(schema: Schema.Decoder<unknown> = Schema.Unknown): unknown {
    return Schema.decodeUnknownSync(schema)(JSON.parse(body))
  }
  return json
}
