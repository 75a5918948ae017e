import { Effect } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { CurrentRequest } from "../../carriers/http/SentRequest.ts"
import * as HttpRecording from "../../carriers/recorder/HttpRecording.ts"
import { standInToken } from "../standInToken.ts"

/* Transports that replace a carrier. */

type Answer = Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>

/** Makes a transport that issues tokens, and passes every other request to `answer`. */
const make = (answer: (request: HttpClientRequest.HttpClientRequest, url: URL) => Answer): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.flatMap(
      CurrentRequest,
      (exchange): Answer =>
        exchange?.purpose === "token" ? Effect.succeed(standInToken(request)) : answer(request, url)
    )
  )

/** A failing carrier, and the name of the failure for messages. */
export interface TransportTrouble {
  readonly name: string
  readonly transport: HttpClient.HttpClient
}

/** The URL and the body of a request, which some carriers repeat in their errors. */
const sentText = (request: HttpClientRequest.HttpClientRequest, url: URL): string =>
  `${url} ${HttpRecording.bodyOf(request).text ?? ""}`

const answering = (status: number, bodyOf: (sent: string) => string, contentType: string) =>
  make((request, url) =>
    Effect.succeed(
      HttpClientResponse.fromWeb(
        request,
        new Response(bodyOf(sentText(request, url)), { status, headers: { "content-type": contentType } })
      )
    )
  )

/** The maximum number of requests to keep for an adapter. */
const maxRequests = 1_000

/** Makes a transport that sends through another transport, and keeps the text of each request. */
export const overheard = (client: HttpClient.HttpClient) => {
  const requests: Array<string> = []
  const transport = HttpClient.transform(client, (call, request) => {
    if (requests.length >= maxRequests) return call
    const { authorization: _, ...headers } = request.headers
    const { text } = HttpRecording.bodyOf(request)
    const query = JSON.stringify(request.urlParams)
    requests.push([request.method, request.url, query, JSON.stringify(headers), text ?? ""].join("\n"))
    return call
  })
  return { requests, transport }
}

/** A carrier that refuses every request. */
export const refusing: HttpClient.HttpClient = answering(400, () => "{}", "application/json")

/** Carriers that fail in common ways. Their responses repeat what was sent to them. */
export const troubles: ReadonlyArray<TransportTrouble> = [
  {
    name: "answers 400",
    transport: answering(400, (requestText) => JSON.stringify({ error: `Invalid: ${requestText}` }), "application/json")
  },
  { name: "answers 500", transport: answering(500, (requestText) => `<p>Error at ${requestText}</p>`, "text/html") },
  {
    name: "answers with unexpected JSON",
    transport: answering(200, (requestText) => JSON.stringify([{ unexpected: requestText }]), "application/json")
  },
  {
    name: "answers with text that is not JSON",
    transport: answering(200, (requestText) => `<${requestText}`, "text/plain")
  },
  {
    name: "drops the connection",
    transport: make((request, url) =>
      Effect.fail(
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.TransportError({
            request,
            cause: Object.assign(new Error(`broken: ${sentText(request, url)}`), { code: "ECONNRESET" })
          })
        })
      )
    )
  }
]

/** A carrier that never answers. It counts the requests that have begun, and the requests that are still open. */
export const silence = () => {
  const count = { begun: 0, open: 0 }
  const transport = make(() =>
    Effect.suspend(() => {
      count.begun += 1
      count.open += 1
      return Effect.ensuring(
        Effect.never,
        Effect.sync(() => {
          count.open -= 1
        })
      )
    })
  )
  return { count, transport }
}
