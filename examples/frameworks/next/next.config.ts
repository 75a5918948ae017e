import type { NextConfig } from "next"

const config: NextConfig = {
  // Node loads these packages from node_modules, and Next does not bundle them.
  serverExternalPackages: ["@quotewire/core", "@quotewire/http", "@quotewire/mcp", "@quotewire/storage-memory"]
}
export default config
