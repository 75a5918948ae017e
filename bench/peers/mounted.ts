import { createServer, type RequestListener, type Server } from "node:http"
import { createRequire } from "node:module"
import { getRequestListener } from "@hono/node-server"
import { embed } from "@quotewire/core"
import { NodeCrypto, nodeHandler } from "@quotewire/http"
import { webHandler } from "@quotewire/http/web"
import { MemoryStorage } from "@quotewire/storage-memory"
import fastify from "fastify"
import { Hono } from "hono"
import * as Service from "../Service.ts"
import * as starts from "../starts.ts"
import * as Peer from "./Peer.ts"

/** The few parts of Express that are used here, because Express's types are not installed. */
type Express = () => RequestListener & { readonly use: (handle: ReturnType<typeof nodeHandler>) => void }

const quotewire = embed({
  storage: MemoryStorage.layer,
  cryptography: NodeCrypto.layer,
  public_url: "https://host.example",
  work: false
})
const { limits } = Service

/** For each framework, a server that serves only the handler. */
const servers: Readonly<Record<string, () => Promise<Server>>> = {
  Express: async () => {
    const express: Express = createRequire(import.meta.url)("express")
    const app = express()
    app.use(nodeHandler(quotewire, { limits }))
    return createServer(app)
  },
  Fastify: async () => {
    const handle = nodeHandler(quotewire, { limits })
    const app = fastify()
    app.all("/*", {
      onRequest: async (request, reply) => {
        reply.hijack()
        handle(request.raw, reply.raw)
      },
      handler: async () => {}
    })
    await app.ready()
    return app.server
  },
  Hono: async () => {
    const handle = webHandler(quotewire, { limits })
    const app = new Hono()
    app.all("*", (c) => handle(c.req.raw))
    return createServer(getRequestListener(app.fetch))
  }
}

Peer.run(async (shared) => {
  const serve = servers[process.argv[2] ?? ""]
  if (serve === undefined) throw new Error("Name a framework")
  const { port } = await Peer.listening(await serve(), shared)
  const key = await quotewire.run(Service.makeKey)
  const [quote] = await quotewire.run(Service.makeQuotes(key, starts.smallest("the-quote")))
  return { port, key, quote_id: quote?.id ?? "" }
})
