import { once } from "node:events"
import { createServer } from "node:http"
import { embed } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { portOf } from "./portOf.ts"

const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://quotes.example" })
const server = createServer(nodeHandler(quotewire, { mcp }))

// Port 0 picks a free port.
await once(server.listen(0), "listening")
const { status } = await fetch(`http://127.0.0.1:${portOf(server)}/health/ready`)
console.log(status)

// A real server goes on. When it stops, running requests finish first.
await quotewire.close()
server.close()
