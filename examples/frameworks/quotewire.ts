import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

/** The service that the programs in this folder mount. */
export const quotewire = embed({ storage: MemoryStorage.layer, public_url: "http://localhost:3000/insurance" })

// Creates a key to try the service with.
const { id: organization_id } = await quotewire.createOrganization("Shop")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
console.log(`key: ${key}`)
