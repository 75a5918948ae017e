import { defineConfig } from "@quotewire/core"
import { acme } from "./acme.ts"

export default defineConfig({
  carriers: [acme]
})
