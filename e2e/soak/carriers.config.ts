import { defineCarrier, defineConfig, Money, Reply } from "@quotewire/core"

/**
 * How long an offer is valid, in milliseconds: shorter than quotes are kept, so that no offer expires after its
 * erasure.
 */
const lastsMs = Number(process.env.SOAK_OFFERS_MS)

/** For the live work of a soak: one carrier that responds immediately. */
export default defineConfig({
  carriers: [
    defineCarrier({
      id: "mga:soak-mutual",
      name: "Soak Mutual",
      environments: ["live"],
      lines: { renters: { states: ["NY"], rate_per_minute: 10_000, max_concurrent: 100 } },
      ask: () =>
        Reply.offers([
          {
            offer_ref: "soak",
            premium: Money.cents(12_000),
            term_months: 12,
            expires_at: new Date(Date.now() + lastsMs).toISOString()
          }
        ])
    })
  ]
})
