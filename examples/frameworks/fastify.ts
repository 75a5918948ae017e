import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { fastify } from "fastify"
import { quotewire } from "./quotewire.ts"

const handle = nodeHandler(quotewire, { base_path: "/insurance", mcp })
const app = fastify()
// In Fastify, `/insurance/*` does not match `/insurance`, so both paths are needed.
for (const path of ["/insurance", "/insurance/*"]) {
  app.all(path, {
    // `onRequest` is the first hook. Later hooks run after Fastify has read the body.
    onRequest: async (request, reply) => {
      reply.hijack()
      handle(request.raw, reply.raw)
    },
    handler: async () => {}
  })
}
app.post("/orders", async (request) => request.body)

// Closes the service when Fastify stops. Running requests finish first.
app.addHook("preClose", () => quotewire.close())
process.once("SIGTERM", () => app.close())

await app.listen({ port: Number(process.env.PORT ?? 3000), host: process.env.HOST ?? "localhost" })
