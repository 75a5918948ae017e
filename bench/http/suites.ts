import * as starts from "../starts.ts"
import type { Peer, Suite } from "./suite.ts"

const quotewire: Peer = { name: "Quotewire", script: "peers/quotewire.ts" }
const others: ReadonlyArray<Peer> = [
  { name: "Fastify 5", script: "peers/fastify.ts" },
  { name: "Express 5", script: "peers/express.ts" },
  { name: "raw node:http", script: "peers/raw.ts" }
]

/** Reads one quote. */
export const read: Suite = {
  name: "read",
  title: "GET /v1/quotes/{id}",
  peers: [quotewire, ...others],
  base: "Fastify 5",
  anew: false,
  load: (at) => ({ method: "GET", path: `/v1/quotes/${at.quote_id}`, body: null, status: 200 })
}

// It waits in its queue for five minutes, so that what is measured is the start and not the work that follows.
const body = JSON.stringify({ ...starts.household("{unique}"), scenario: "waits_in_queue" })

/** Starts quote requests, each with a key of its own. */
export const start: Suite = {
  name: "start",
  title: `POST /v1/quote-requests (${body.length} bytes)`,
  peers: [quotewire, { ...quotewire, name: "Quotewire, runner in the same process", args: ["--work"] }, ...others],
  base: "Fastify 5",
  anew: true,
  load: () => ({ method: "POST", path: "/v1/quote-requests", body, status: 202 })
}
