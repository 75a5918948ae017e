import { createServer, type RequestListener } from "node:http"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { quotewire } from "./quotewire.ts"

const orders: RequestListener = (request, response) => {
  if (request.method !== "POST" || request.url !== "/orders") return response.writeHead(404).end()
  response.writeHead(200, { "content-type": "application/json" })
  request.pipe(response)
}

const handle = nodeHandler(quotewire, { base_path: "/insurance", mcp })
const server = createServer((request, response) => handle(request, response, () => orders(request, response)))
server.listen(process.env.PORT ?? 3000)

process.once("SIGTERM", async () => {
  // Closing the service lets running requests finish first.
  await quotewire.close()
  server.close()
})
