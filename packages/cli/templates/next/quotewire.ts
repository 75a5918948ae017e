import { startService } from "./service.ts"

declare global {
  var quotewireService: ReturnType<typeof startService> | undefined
}

/** Returns the one service. It is global, because Next bundles routes and pages separately and reloads them. */
export const quotewire = () => (globalThis.quotewireService ??= startService())
