import type { NextConfig } from "next"

const config: NextConfig = {
  // Loaded from node_modules, not bundled. Your code and the service must share one copy of each.
  serverExternalPackages: [
    "@quotewire/core",
    "@quotewire/http",
    "@quotewire/mcp",
    "@quotewire/storage-memory",
    "@quotewire/storage-pg", //? docker
    "effect"
  ]
}
export default config
