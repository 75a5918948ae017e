import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

const quotewire = embed({ storage: MemoryStorage.layer })

// Creates a token for support staff, to use with a host that serves the operators' API.
const { details } = await quotewire.operators.createToken({ name: "Support desk", scopes: ["read", "write"] })
console.log(details.scopes.join(", "))

const desk = quotewire.operators.as({ name: "Support desk", scopes: ["read", "write"] })
const { quote_requests } = await desk.find_quote_requests({ ended: "without_quotes" })
console.log("ended without a quote:", quote_requests.length)

const { entries } = await desk.list_audit_log()
for (const { operation, outcome, token_name } of entries) console.log(`${token_name}: ${operation} ${outcome}`)
await quotewire.close()
