import { type HttpClientRequest, HttpClientResponse } from "effect/http"

/** Answers a token request with a stand-in token, without sending the request. */
export const standInToken = (request: HttpClientRequest.HttpClientRequest): HttpClientResponse.HttpClientResponse =>
  HttpClientResponse.fromWeb(
    request,
    new Response(JSON.stringify({ access_token: "stand-in", token_type: "Bearer", expires_in: 3_600 }), {
      headers: { "content-type": "application/json" }
    })
  )
