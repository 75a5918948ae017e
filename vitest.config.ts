import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const source = (path: string) => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

// They need no other process and no socket.
const ofOneProcess = ["packages/{core,mcp,storage-memory}/test/**/*.test.ts", "e2e/classes/*.test.ts"]

const ofServers = ["packages/{http,storage-pg}/test/**/*.test.ts"]

// They load programs that switch Effect's schema compiler on, for the whole process.
const ofPrograms = [
  "packages/cli/test/**/*.test.ts",
  "e2e/{,agents/,fuzz/}*.test.ts",
  "examples/contract/*.test.ts",
  "test/{agents,exampleCallbacks,exampleCarriers,exampleXmlCarrier,outbox,plainJavaScript,receivers}.test.ts"
]

/** Files to begin first. Those with hosts under load alternate with others, so that few of them run concurrently. */
const longest = [
  "e2e/chaos",
  "cli/test/secrets",
  "e2e/faults",
  "cli/test/serve",
  "e2e/growth",
  "cli/test/devData",
  "e2e/upgrade",
  "e2e/console",
  "e2e/backup",
  "simulation/simulate",
  "pglite/pglite",
  "test/pack"
]

/** The projects in the order in which they begin. */
const projects = ["shared workers of programs", "own workers", "shared workers of servers", "shared workers"]

/**
 * Begins with the programs' tests, which wait most, so that none of them runs alone at the end. Ends with those of the
 * packages, which are short and keep the cores busy. The files of a project stay together, because a shared worker ends
 * when the next file is of another project.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const place = ({ moduleId, project }: TestSpecification) => {
      const found = longest.findIndex((name) => moduleId.endsWith(`${name}.test.ts`))
      return projects.indexOf(project.name) * (longest.length + 1) + (found === -1 ? longest.length : found)
    }
    return (await super.sort(files)).sort((one, other) => place(one) - place(other))
  }
}

/**
 * For tests with real processes, sockets or databases: a CI machine that stalls can fail one, and the report marks what
 * was tried again. Tests of one process are tried once, because they wait for nothing else. A property that fails is not
 * tried again, because its example would be lost.
 */
const again = process.env.CI === undefined ? {} : { retry: { count: 2, condition: /^(?![\s\S]*Property failed)/ } }

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
      { extends: true, test: { name: "shared workers", include: ofOneProcess, isolate: false } },
      { extends: true, test: { name: "shared workers of servers", include: ofServers, isolate: false, ...again } },
      { extends: true, test: { name: "shared workers of programs", include: ofPrograms, isolate: false, ...again } },
      {
        extends: true,
        test: {
          ...again,
          name: "own workers",
          include: ["examples/**/*.test.ts", "e2e/**/*.test.ts", "test/**/*.test.ts"],
          // Other runners run the last ones: test/runners.test.ts.
          exclude: [
            "**/node_modules/**",
            ...ofOneProcess,
            ...ofServers,
            ...ofPrograms,
            "examples/testing/{jest,node}/**"
          ]
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
    sequence: { sequencer: LongestFirst },
    // Many tests wait for processes and sockets, so two cores can run five files. With more, hosts under load become slow.
    maxWorkers: Math.ceil(2.5 * availableParallelism())
  }
})
