import { type Carrier, defineConfig } from "@quotewire/core"
import { Effect } from "effect"

/** The only value that the carrier of this configuration accepts as an API key. */
export const secret = "Zq7xSecretZq7x"

const acme: Carrier.CarrierAdapter = {
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
      typical_ms: 1_000,
      hedge_after_ms: null,
      rate_per_minute: 60,
      max_concurrent: 4
    }
  },
  handoff_hosts: [],
  connection: { producer_code: "string", api_key: "secret" },
  testConnection: ({ api_key }) =>
    Effect.succeed(api_key === secret ? { ok: true } : { ok: false, message: `Unknown key ${api_key}.` }),
  ask: () => Effect.never
}
const { testConnection: _, ...untestable } = acme
const other = { ...untestable, carrier: { id: "naic:99999", name: "Other", registry_ids: [] } }

export default defineConfig({ carriers: [acme, other] })
