import type { NextConfig } from "next"

const config: NextConfig = {
  // Loaded from node_modules, not bundled.
  serverExternalPackages: ["@quotewire/core", "@quotewire/http", "@quotewire/mcp", "@quotewire/storage-memory"]
}
export default config
