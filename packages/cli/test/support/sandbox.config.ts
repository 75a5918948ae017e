import { defineCarrier, defineConfig, Reply } from "@quotewire/core"

/** The API key that the carriers of this configuration accept. */
export const secret = "Zq7xSecretZq7x"

/** A carrier whose response says whether it was asked with the right key. */
const carrier = (id: string) =>
  defineCarrier({
    id,
    name: "Acme Mutual",
    lines: { renters: { states: ["NY"], idempotent: true } },
    connection: { api_key: "secret" },
    ask: ({ connection: { api_key } }) =>
      api_key === secret ? Reply.decline("prior_claims") : Reply.unavailable("carrier_error")
  })

export default defineConfig({
  carriers: [carrier("naic:12345"), carrier("naic:23456"), carrier("naic:34567")],
  fictional_carriers: false,
  sandbox_connections: { "naic:12345": { api_key: secret }, "naic:23456": { api_key: process.env.NEVER_SET } }
})
