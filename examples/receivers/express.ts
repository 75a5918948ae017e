import express from "express"
import type { Inbox, Listening } from "./inbox.ts"

/** Receives webhooks in Express. Mount it before any JSON parser, because the signature covers the raw bytes. */
export const serveExpress = (inbox: Inbox, port: number) => {
  const app = express()
  app.post("/webhooks", express.raw({ type: () => true, limit: "64kb" }), async (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.of()
    const { status, work } = await inbox.accept(request.headers, body)
    response.status(status).end()
    work()
  })

  return new Promise<Listening>((resolve, reject) => {
    const server = app.listen(port, "127.0.0.1", (error) => {
      const address = server.address()
      if (error !== undefined || address === null || typeof address === "string") return reject(error)
      resolve({
        url: `http://127.0.0.1:${address.port}/webhooks`,
        close: () => new Promise((closed) => server.close(() => closed()).closeAllConnections())
      })
    })
  })
}
