import { defineCarrier, Reply } from "@quotewire/core"

/** A carrier for a line that no configuration lists. */
export const fiddle = defineCarrier({
  id: "mga:fiddle",
  name: "Fiddle",
  lines: { violin: { states: ["NY"] } },
  ask: () => Reply.decline("property_not_eligible")
})
