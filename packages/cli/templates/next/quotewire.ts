import { startService } from "./service.ts"

declare global {
  var quotewireService: ReturnType<typeof startService> | undefined
}

/** The service: one for all routes and pages, because Next bundles them separately, and across hot reloads. */
export const quotewire = () => (globalThis.quotewireService ??= startService())
