import { embed } from "@quotewire/core"
import { webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Hono } from "hono"

const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example/insurance" })
const handle = webHandler(quotewire, { base_path: "/insurance", mcp })
const app = new Hono()
app.all("/insurance/*", (c) => handle(c.req.raw))

const { status } = await app.request("/insurance/health/ready")
console.log(status)
await quotewire.close()
