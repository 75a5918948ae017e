import { defineConfig } from "@quotewire/core"
import { ownCarriers } from "./ownCarriers.ts"

/** For `quotewire dev`: the carriers on the server that the test names. */
export default defineConfig({ carriers: ownCarriers(process.env.OWN_CARRIERS_URL ?? ""), fictional_carriers: false })
