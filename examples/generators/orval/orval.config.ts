import { defineConfig } from "orval"

export default defineConfig({
  quotewire: {
    input: "openapi.json",
    output: {
      target: "client.ts",
      client: "fetch",
      headers: true,
      override: { mutator: { path: "./send.ts", name: "send", extension: ".ts" } }
    }
  }
})
