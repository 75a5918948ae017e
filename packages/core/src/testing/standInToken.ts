import { type HttpClientRequest, HttpClientResponse } from "effect/http"

/** The answer to a token request when there is no real token. */
export const standInToken = (request: HttpClientRequest.HttpClientRequest): HttpClientResponse.HttpClientResponse =>
  HttpClientResponse.fromWeb(
    request,
    new Response(JSON.stringify({ access_token: "stand-in", token_type: "Bearer", expires_in: 3_600 }), {
      headers: { "content-type": "application/json" }
    })
  )
