import { quotewire } from "./quotewire"

const service = quotewire()
// Ends pending long polls immediately, so that the server can stop.
process.once("SIGTERM", () => service.close())

// A first key for trying out the service.
const { id: organization_id } = await service.createOrganization("Shop")
const { key } = await service.createKey({ organization_id, environment: "sandbox", kind: "server" })
console.log(`key: ${key}`)
