import { embed } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"

const quotewire = embed({
  storage: postgres({ url: process.env.DATABASE_URL, migrate: true }),
  seal_keys: [process.env.SEAL_KEY]
})
await quotewire.ready

for (const { id, name } of await quotewire.listOrganizations()) console.log(id, name)
await quotewire.close()
