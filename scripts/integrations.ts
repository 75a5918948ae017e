import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { root } from "../test/support/sources.ts"
import { npm } from "./installPackages.ts"

/*
 * Installs Jest and Next (400 MB) into their folders, and runs the tests that use them (`npm run integrations`). They
 * are not installed with the repository, because they are large. Once they are installed, `npm test` also runs these
 * tests.
 */

// Next would take a second package-lock.json for a second root, so its folder has a shrinkwrap, which npm reads in the
// same way.
for (const folder of ["examples/testing/jest", "test/frameworks/next"])
  npm(join(root, folder), "ci", "--ignore-scripts")

const { status } = spawnSync("npx", ["vitest", "run", "test/runners.test.ts", "test/frameworks.test.ts"], {
  cwd: root,
  stdio: "inherit"
})
process.exitCode = status ?? 1
