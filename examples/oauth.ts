import { embed } from "@quotewire/core"
import { nodeHandler, type OAuthOptions, protectedResource } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import express from "express"

const base_url = "https://shop.example/insurance"
const quotewire = embed({ storage: MemoryStorage.layer, public_url: base_url })
const { id: organization_id } = await quotewire.createOrganization("Shop")

const oauth: OAuthOptions = {
  issuer: "https://login.example.com",
  environment: "sandbox",
  organization_id,
  scopes: { quotes: "platform", "quotes:all": "server" },
  required: true
}

const app = express()
app.use("/insurance", nodeHandler(quotewire, { mcp, oauth }))

// Some agent programs first look for the metadata at the root of the site.
const { metadata, path } = protectedResource({ oauth, base_url })
app.get(path, (_request, response) => void response.set("Access-Control-Allow-Origin", "*").json(metadata))

const server = app.listen(process.env.PORT ?? 0)

// The response to a call without a token says where to sign in.
const address = server.address()
const port = typeof address === "object" && address !== null ? address.port : 0
const { headers, status } = await fetch(`http://127.0.0.1:${port}/insurance/v1/mcp`, { method: "POST" })
console.log(status, headers.get("www-authenticate"))

await quotewire.close()
server.close()
