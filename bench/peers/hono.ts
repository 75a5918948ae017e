import { createServer } from "node:http"
import { getRequestListener } from "@hono/node-server"
import { Hono } from "hono"
import * as Peer from "./Peer.ts"

/** Hono on Node. Checks one key, and returns a quote that is stored as JSON text. */
Peer.run((shared) => {
  const quotes = new Map([[shared.quote.id, JSON.stringify(shared.quote)]])
  const app = new Hono()
  app.get("/v1/quotes/:id", (c) => {
    const headers = { "content-type": "application/json", "request-id": Peer.newId("req"), ...Peer.headers }
    if (c.req.header("authorization") !== Peer.authorization) {
      return c.body('{"code":"authentication_failed"}', 401, headers)
    }
    const quote = quotes.get(c.req.param("id"))
    return quote === undefined ? c.body('{"code":"not_found"}', 404, headers) : c.body(quote, 200, headers)
  })
  return Peer.listening(createServer(getRequestListener(app.fetch)), shared)
})
