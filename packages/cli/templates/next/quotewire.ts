import { startService } from "./service.ts"

declare global {
  var quotewireService: ReturnType<typeof startService> | undefined
}

/** The only service. Next bundles routes and pages separately and reloads them, so the service is kept globally. */
export const quotewire = () => (globalThis.quotewireService ??= startService())
