import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { root } from "../test/support/sources.ts"
import { npm } from "./installPackages.ts"

/*
 * Installs Jest, Next and Prisma (700 MB) into the folders of the examples and tests that need them, and runs these
 * tests (`npm run integrations`). They are not installed with the repository, because they are large. After that, `npm
 * test` also runs these tests.
 */

// Next would take a second package-lock.json for a second project root. So Next's folder has an npm-shrinkwrap.json
// instead, which npm reads in the same way.
const prisma = join(root, "examples/outbox/prisma")
for (const folder of [join(root, "examples/testing/jest"), join(root, "test/frameworks/next"), prisma])
  npm(folder, "ci", "--ignore-scripts")

/** Runs a command in a folder. The variable stops Prisma from downloading engines, which its client does not need. */
const succeeds = (cwd: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync("npx", args, {
    cwd,
    stdio: "inherit",
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" }
  }).status === 0

const tests = ["test/runners.test.ts", "test/frameworks.test.ts", "test/outbox.test.ts"]
const succeeded =
  succeeds(prisma, "prisma", "generate", "--schema", "schema.prisma") &&
  succeeds(prisma, "tsc", "--project", ".") &&
  succeeds(root, "vitest", "run", ...tests)
process.exitCode = succeeded ? 0 : 1
