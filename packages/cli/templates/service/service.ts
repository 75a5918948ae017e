import { embed, WebhookAddress } from "@quotewire/core"
import { NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { postgres } from "@quotewire/storage-pg" //? docker
import config from "../quotewire.config.ts" //? !json !xml
import config, { sandbox_connections } from "../quotewire.config.ts" //? json|xml

const { QUOTEWIRE_BASE_URL = "http://localhost:3000{{mount}}", QUOTEWIRE_WEBHOOK_ALLOW = "" } = process.env
const { QUOTEWIRE_DATABASE_URL, QUOTEWIRE_SEAL_KEYS } = process.env //? docker

// Webhooks may reach only public addresses. `npm run dev` also allows this machine, without TLS (.env.development).
const allow = WebhookAddress.readNetworks(QUOTEWIRE_WEBHOOK_ALLOW) ?? []

//? docker
// Without a database, the service stores all data in memory.
const data =
  QUOTEWIRE_DATABASE_URL === undefined
    ? { storage: MemoryStorage.layer }
    : {
        storage: postgres({ url: QUOTEWIRE_DATABASE_URL, migrate: true }),
        seal_keys: (QUOTEWIRE_SEAL_KEYS ?? "").split(",")
      }

//?
const { sandbox_connections: _, ...options } = config //? json|xml

/** Starts the quoting service inside this program. */
export const startService = () =>
  embed({
    ...options, //? json|xml
    ...config, //? !json !xml
    ...data, //? docker
    storage: MemoryStorage.layer, //? !docker
    public_url: QUOTEWIRE_BASE_URL,
    webhooks: NodeWebhookSender.layer({ policy: { ...WebhookAddress.publicOnly, allow } })
  })

/** Creates and prints a key to try the service with. A restart deletes data in memory, including this key. */
export const printKey = async (quotewire: ReturnType<typeof startService>): Promise<void> => {
  if (QUOTEWIRE_DATABASE_URL !== undefined) return //? docker
  const { id: organization_id } = await quotewire.createOrganization("Shop")
  //? json|xml
  for (const [carrier_id, values] of Object.entries(sandbox_connections)) {
    await quotewire.setConnection({ organization_id, environment: "sandbox", carrier_id, values })
  }
  //?
  const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
  console.log(`Quotewire is at ${QUOTEWIRE_BASE_URL}`)
  console.log(`key: ${key}`)
}
