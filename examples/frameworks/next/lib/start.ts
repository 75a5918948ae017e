import { quotewire } from "./quotewire"

const service = quotewire()
// Closing the service ends pending long polls immediately, so that the server can stop.
process.once("SIGTERM", () => service.close())

// Creates a key to try the service with.
const { id: organization_id } = await service.createOrganization("Shop")
const { key } = await service.createKey({ organization_id, environment: "sandbox", kind: "server" })
console.log(`key: ${key}`)
