import { createServer } from "node:http"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { quotewire } from "./quotewire.ts"

const server = createServer(nodeHandler(quotewire, { base_path: "/insurance", mcp }))
server.listen(process.env.PORT ?? 3000)

process.once("SIGTERM", async () => {
  // Running requests finish first.
  await quotewire.close()
  server.close()
})
