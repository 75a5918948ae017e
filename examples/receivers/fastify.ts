import { fastify } from "fastify"
import type { Inbox, Listening } from "./inbox.ts"

/** Receives webhooks in Fastify. Removes Fastify's JSON parser, because the signature covers the raw bytes. */
export const serveFastify = async (inbox: Inbox, port: number): Promise<Listening> => {
  const app = fastify({ bodyLimit: 64 * 1024, forceCloseConnections: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body))
  app.post("/webhooks", async (request, reply) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.of()
    const { status, work } = await inbox.accept(request.headers, body)
    await reply.code(status).send()
    work()
  })

  const origin = await app.listen({ port, host: "127.0.0.1" })
  return { url: `${origin}/webhooks`, close: () => app.close() }
}
