import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

export const quotewire = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example/insurance" })
