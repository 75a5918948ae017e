import { once } from "node:events"
import { embed } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import express from "express"
import { portOf } from "./portOf.ts"

const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example/insurance" })
const app = express()
app.use("/insurance", nodeHandler(quotewire, { mcp }))
app.use(express.json())

// Port 0 picks a free port.
const server = app.listen(0)
await once(server, "listening")
const { status } = await fetch(`http://127.0.0.1:${portOf(server)}/insurance/health/ready`)
console.log(status)

// A real server goes on. When it stops, running requests finish first.
await quotewire.close()
server.close()
