import { printKey, startService } from "./service.ts"

/** The service that this program mounts. */
export const quotewire = startService()
await printKey(quotewire)
