import { defineCarrier, Reply } from "@quotewire/core"

/** Declines everyone who rents in New York. See `examples/carrier.ts` for a carrier that makes offers. */
export const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"], idempotent: true } },
  ask: () => Reply.decline("risk_outside_guidelines")
})
