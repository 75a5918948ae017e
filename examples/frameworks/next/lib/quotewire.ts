import { type Embedded, embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

declare global {
  var quotewireService: Embedded | undefined
}

const make = () => embed({ storage: MemoryStorage.layer, public_url: "http://localhost:3000/api/insurance" })

/** Returns the one service. It is global, because Next bundles routes and pages separately and reloads them. */
export const quotewire = (): Embedded => (globalThis.quotewireService ??= make())
