import { embed } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { fastify } from "fastify"

const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example/insurance" })
const handle = nodeHandler(quotewire, { base_path: "/insurance", mcp })
const app = fastify()
app.all("/insurance/*", {
  // Before Fastify reads the body.
  onRequest: async (request, reply) => {
    reply.hijack()
    handle(request.raw, reply.raw)
  },
  handler: async () => {}
})
// Stops when Fastify does; running requests finish first.
app.addHook("preClose", () => quotewire.close())

// Port 0 picks a free port.
const address = await app.listen({ port: 0 })
const { status } = await fetch(`${address}/insurance/v1/quote-requests`, { method: "POST", body: "{}" })
console.log(status)
await app.close()
