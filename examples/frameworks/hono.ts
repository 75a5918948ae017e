import { serve } from "@hono/node-server"
import { webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { Hono } from "hono"
import { quotewire } from "./quotewire.ts"

const handle = webHandler(quotewire, { base_path: "/insurance", mcp })
const app = new Hono()
app.all("/insurance/*", (c) => handle(c.req.raw))
app.post("/orders", async (c) => c.json(await c.req.json()))

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })

process.once("SIGTERM", async () => {
  // Closing the service lets running requests finish first.
  await quotewire.close()
  server.close()
})
