import { Effect } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import * as CarrierHttp from "../../src/carriers/http/CarrierHttp.ts"
import type { CarrierHttpOptions } from "../../src/carriers/http/CarrierHttpOptions.ts"
import * as Tokens from "../../src/carriers/http/CarrierTokens.ts"

/** A request as the carrier gets it. */
export interface Got {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string
}

/**
 * What the carrier does with a request: it answers now or later, breaks the connection with a code, or never answers.
 */
export type Script = (
  got: Got,
  count: number
) => Response | Effect.Effect<Response> | { readonly code: string } | "silence"

export const json = (value: unknown, statusCode = 200, headers: Readonly<Record<string, string>> = {}) =>
  new Response(JSON.stringify(value), {
    status: statusCode,
    headers: { "content-type": "application/json", ...headers }
  })

const answer = (
  script: Script,
  got: Got,
  count: number,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<Response, HttpClientError.HttpClientError> => {
  const said = script(got, count)
  if (said === "silence") return Effect.never
  if (said instanceof Response) return Effect.succeed(said)
  if (Effect.isEffect(said)) return said
  const cause = Object.assign(new Error("broken: anna@example.com"), { code: said.code })
  return Effect.fail(
    new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
  )
}

/** A carrier that follows a script, and the requests that it got. */
export const make = (script: Script) => {
  const requests: Array<Got> = []
  const client = HttpClient.make((request, url) =>
    Effect.suspend(() => {
      const { method, headers, body } = request
      const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
      const got = { method, url, headers: new Headers(headers), body: text }
      requests.push(got)
      return Effect.map(answer(script, got, requests.length, request), (response) =>
        HttpClientResponse.fromWeb(request, response)
      )
    })
  )
  return { client, requests }
}

/** An answer without a body, which is read immediately. */
export const status = (code: number, headers: Readonly<Record<string, string>> = {}) =>
  new Response(null, { status: code, headers })

/** The first request that the carrier got. */
export const firstOf = (requests: ReadonlyArray<Got>): Got => {
  const [got] = requests
  if (got === undefined) throw new Error("There was no request.")
  return got
}

export const connection = {
  client_id: "broker-7",
  client_secret: "s3cret",
  key: "k-123",
  user: "anna",
  password: "pässword"
}

/** Runs a test with a client of a scripted carrier, and without cached tokens. */
export const withClient = <A, E>(
  script: Script,
  use: (http: CarrierHttp.CarrierHttp, requests: ReadonlyArray<Got>) => Effect.Effect<A, E>,
  options: Partial<CarrierHttpOptions> = {},
  context: Partial<CarrierHttp.CarrierHttpContext> = {}
) =>
  Effect.gen(function* () {
    const { client, requests } = make(script)
    const tokens = yield* Tokens.make
    return yield* Effect.flatMap(
      CarrierHttp.make(
        { base_url: "https://api.acme.example/v2", ...options },
        { environment: "live", connection, timeout_ms: 10_000, idempotent: false, ...context }
      ),
      (http) => use(http, requests)
    ).pipe(Effect.provideService(CarrierTransport, client), Effect.provideService(Tokens.CarrierTokens, tokens))
  })
