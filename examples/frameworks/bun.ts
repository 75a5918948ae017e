import { webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { Hono } from "hono"
import { quotewire } from "./quotewire.ts"

const handle = webHandler(quotewire, { base_path: "/insurance", mcp })
const app = new Hono()
app.all("/insurance/*", (c) => handle(c.req.raw))
app.post("/orders", async (c) => c.json(await c.req.json()))

// By default, Bun closes connections after 10 seconds without data, but a long poll may wait for 20.
export default { fetch: app.fetch, port: process.env.PORT ?? 3000, idleTimeout: 30 }

process.once("SIGTERM", async () => {
  // Closing the service lets running requests finish first.
  await quotewire.close()
  process.exit()
})
