import { defineCarrier, defineConfig, Reply } from "@quotewire/core"

/** A carrier that never answers. */
export const ailing = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"], idempotent: false } },
  ask: () => Reply.unavailable("carrier_error")
})

export default defineConfig({ carriers: [ailing] })
