import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import express from "express"
import { quotewire } from "./quotewire.ts"

const app = express()
app.use("/insurance", nodeHandler(quotewire, { mcp }))
app.use(express.json())
app.post("/orders", (request, response) => void response.json(request.body))

const server = app.listen(process.env.PORT ?? 3000)

process.once("SIGTERM", async () => {
  // Closing the service lets running requests finish first.
  await quotewire.close()
  server.close()
})
