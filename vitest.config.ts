import { availableParallelism } from "node:os"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const source = (path: string) => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

const ofPackages = ["packages/{core,http,mcp,storage-memory,storage-pg}/test/**/*.test.ts", "e2e/classes/*.test.ts"]

// They load programs that switch Effect's schema compiler on, for the whole process.
const ofPrograms = [
  "packages/cli/test/**/*.test.ts",
  "e2e/{,agents/,fuzz/}*.test.ts",
  "examples/contract/*.test.ts",
  "test/{agents,exampleCallbacks,exampleCarriers,exampleXmlCarrier,outbox,plainJavaScript,receivers}.test.ts"
]

/** Files that take more than half a minute, the longest first. */
const longest = [
  "chaos",
  "serve",
  "faults",
  "carrierTrials",
  "pack",
  "dev",
  "console",
  "secrets",
  "simulate",
  "devData"
]

/** Begins with the longest files, so that none of them runs alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const place = ({ moduleId }: TestSpecification) => {
      const found = longest.indexOf(basename(moduleId, ".test.ts"))
      return found === -1 ? longest.length : found
    }
    return (await super.sort(files)).sort((one, other) => place(one) - place(other))
  }
}

// Tests run on the sources, so that they need no build first.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@quotewire\/([a-z-]+)\/([a-z-]+)$/, replacement: source("$1/src/$2/index.ts") },
      { find: /^@quotewire\/([a-z-]+)$/, replacement: source("$1/src/index.ts") }
    ]
  },
  test: {
    projects: [
      // These change nothing outside themselves, so they share workers: loading Effect once saves a second for each file.
      { extends: true, test: { name: "shared workers", include: ofPackages, isolate: false } },
      { extends: true, test: { name: "shared workers of programs", include: ofPrograms, isolate: false } },
      {
        extends: true,
        test: {
          name: "own workers",
          include: ["examples/**/*.test.ts", "e2e/**/*.test.ts", "test/**/*.test.ts"],
          // Other runners run the last ones: test/runners.test.ts.
          exclude: ["**/node_modules/**", ...ofPackages, ...ofPrograms, "examples/testing/{jest,node}/**"]
        }
      }
    ],
    globalSetup: [
      "test/support/postgresOfRun.ts",
      "test/support/browser.ts",
      "scripts/quoteCard.ts",
      "scripts/console.ts",
      "scripts/templates.ts"
    ],
    // Ends what hangs. Tests that start processes take long on a busy machine, and pass there too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A CI machine that stalls can fail a test with real processes, sockets or databases; the report marks what was tried
    // again. A property that fails is not tried again, because its example would be lost.
    ...(process.env.CI === undefined ? {} : { retry: { count: 2, condition: /^(?![\s\S]*Property failed)/ } }),
    sequence: { sequencer: LongestFirst },
    // Many tests wait for processes and sockets, so two cores can run six files.
    maxWorkers: 3 * availableParallelism()
  }
})
