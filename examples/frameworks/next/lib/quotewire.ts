import { type Embedded, embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

declare global {
  var quotewireService: Embedded | undefined
}

const make = () => embed({ storage: MemoryStorage.layer, public_url: "http://localhost:3000/api/insurance" })

/** The service: one for all routes and pages, because Next bundles them separately, and across hot reloads. */
export const quotewire = (): Embedded => (globalThis.quotewireService ??= make())
