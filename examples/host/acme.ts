import type { Carrier } from "@quotewire/core"
import { Effect } from "effect"

/** Declines everyone who rents in New York. `examples/carrier.ts` makes offers. */
export const acme: Carrier.CarrierAdapter = {
  carrier: { id: "naic:12345", name: "Acme Mutual", registry_ids: ["naic:12345"] },
  environments: ["sandbox", "live"],
  lines: {
    renters: {
      states: ["NY"],
      needs: [],
      uses_credit: false,
      mode: "sync",
      idempotent: true,
      attempt_timeout_ms: 5_000,
      typical_ms: 500,
      hedge_after_ms: null,
      rate_per_minute: 60,
      max_concurrent: 4
    }
  },
  handoff_hosts: ["acme.example"],
  ask: () => Effect.succeed({ kind: "declined", reason: "risk_outside_guidelines" })
}
