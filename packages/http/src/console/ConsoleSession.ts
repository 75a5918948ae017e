import { ApiError, Input } from "@quotewire/core"
import { Effect, Redacted, Schema } from "effect"
import type { Answer } from "../host/Answer.ts"
import * as RequestInfo from "../host/RequestInfo.ts"
import * as Route from "../host/Route.ts"
import type { ConsoleLink } from "./ConsoleLink.ts"

/** The maximum size of the request body, in bytes. */
const maxBytes = 1_024

const read = Input.reader(
  Schema.Struct({ link: Schema.String.annotateKey({ description: "The code of the link, from its fragment" }) })
)

/**
 * `POST /console/session`: exchanges a link's code for the key, once.
 *
 * Only pages from this host may call it. A wrong, used or expired code gets the same `not_found`.
 */
export const route = (link: ConsoleLink): Route.Route =>
  Route.make("POST", "/console/session", (incoming) =>
    Effect.gen(function* () {
      if (!isSameOrigin(incoming.header)) return yield* otherOrigin
      const body = yield* Effect.fromResult(RequestInfo.json(yield* incoming.read(maxBytes), incoming.header))
      const credentials = yield* Effect.fromResult(read(body))
      const key = yield* link.redeem(credentials.link)
      return key === null ? yield* notValid : granted(Redacted.value(key))
    })
  )

/** Whether a page from this host sent a request. Browsers set these headers, and pages cannot change them. */
const isSameOrigin = (header: Route.Header): boolean => {
  const site = header("sec-fetch-site")
  if (site !== null) return site === "same-origin"
  const origin = header("origin")
  // Browsers send `sec-fetch-site` only over TLS or to this machine. If that header is missing, compare the origin.
  return origin !== null && URL.parse(origin)?.host === header("host")
}

const otherOrigin = ApiError.make("forbidden", { message: "Only this host's console may sign in with a link." })

const notValid = ApiError.make("not_found", {
  message: "The link is unknown, was already used, or has expired. Enter a key, or restart the sandbox for a new link."
})

const granted = (key: string): Answer => ({
  status: 200,
  headers: {
    "content-type": "application/json",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  },
  body: JSON.stringify({ key })
})
