import { startService } from "./service.ts"

declare global {
  var quotewireService: ReturnType<typeof startService> | undefined
}

/** Returns the one service. Next bundles routes and pages separately and reloads them, so it is stored globally. */
export const quotewire = () => (globalThis.quotewireService ??= startService())
