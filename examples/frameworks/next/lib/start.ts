import { quotewire } from "./quotewire"

const service = quotewire()
// Long polls return at once, and the server can stop.
process.once("SIGTERM", () => service.close())

// A first key, to try it out.
const { id: organization_id } = await service.createOrganization("Shop")
const { key } = await service.createKey({ organization_id, environment: "sandbox", kind: "server" })
console.log(`key: ${key}`)
