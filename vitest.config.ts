import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const source = (path: string) => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

// Tests run on the sources, so that they need no build first.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@quotewire\/([a-z-]+)\/([a-z-]+)$/, replacement: source("$1/src/$2/index.ts") },
      { find: /^@quotewire\/([a-z-]+)$/, replacement: source("$1/src/index.ts") }
    ]
  },
  test: {
    // Other runners run these: test/runners.test.ts.
    exclude: ["**/node_modules/**", "examples/testing/{jest,node}/**"],
    include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts", "e2e/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/support/postgresOfRun.ts", "scripts/quoteCard.ts"],
    testTimeout: 30_000,
    // Vitest leaves one core free by default. Many tests wait for processes and sockets, so use all cores.
    maxWorkers: "100%"
  }
})
