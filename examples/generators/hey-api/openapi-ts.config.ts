import { defineConfig } from "@hey-api/openapi-ts"

export default defineConfig({
  input: "openapi.json",
  output: { path: "client", module: { extension: ".ts" } },
  plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"]
})
