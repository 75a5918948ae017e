import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import { createRequire } from "node:module"
import * as Peer from "./Peer.ts"
import * as schemas from "./schemas.ts"

/** The few parts of Express that are used here, because Express's types are not installed. */
interface Request extends IncomingMessage {
  readonly params: Readonly<Record<string, string>>
  readonly body: unknown
}
interface Response {
  readonly status: (code: number) => Response
  readonly set: (headers: Readonly<Record<string, string>>) => Response
  readonly json: (value: unknown) => void
}
type Handler = (request: Request, response: Response, next: () => void) => void
interface Express {
  (): RequestListener & {
    readonly disable: (setting: string) => void
    readonly use: (handler: Handler) => void
    readonly get: (path: string, handler: Handler) => void
    readonly post: (path: string, handler: Handler) => void
  }
  readonly json: () => Handler
}
const express: Express = createRequire(import.meta.url)("express")

/** Express 5, without the entity tags and the `X-Powered-By` header that it adds by default. */
Peer.run((shared) => {
  const quotes = new Map([[shared.quote.id, shared.quote]])
  const requests = new Map<string, unknown>()
  const isStart = schemas.compile(shared.start_schema)
  const app = express()
  app.disable("etag")
  app.disable("x-powered-by")
  app.use((request, response, next) => {
    response.set({ "request-id": Peer.newId("req"), ...Peer.headers })
    if (request.headers.authorization === Peer.authorization) next()
    else response.status(401).json({ code: "authentication_failed" })
  })
  app.use(express.json())
  app.get("/v1/quotes/:id", (request, response) => {
    const quote = quotes.get(request.params.id ?? "")
    if (quote === undefined) response.status(404).json({ code: "not_found" })
    else response.json(quote)
  })
  app.post("/v1/quote-requests", (request, response) => {
    if (!isStart(request.body)) return response.status(400).json({ code: "invalid_input" })
    const id = Peer.newId("qreq")
    requests.set(id, request.body)
    response.status(202).json({ ...shared.started, id })
  })
  return Peer.listening(createServer(app), shared)
})
