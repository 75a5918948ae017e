import { defineCarrier, Reply } from "@quotewire/core"

const http = { base_url: process.env.TRIAL_URL ?? "http://127.0.0.1:1" }
const known = { name: "Acme Mutual", lines: { renters: { states: ["NY"] } }, http } as const

/** A carrier whose server is at the address in `TRIAL_URL`. */
export const failing = defineCarrier({
  ...known,
  id: "naic:77777",
  ask: async ({ http: client }) => {
    await client.post("/quotes", { json: {} })
    return Reply.decline("prior_claims")
  }
})

/** A carrier whose adapter does not wait for the answer. */
export const hasty = defineCarrier({
  ...known,
  id: "naic:66666",
  ask: ({ http: client }) => {
    void client.post("/quotes", { json: {} }).catch(() => {})
    throw new Error("unexpected")
  }
})
