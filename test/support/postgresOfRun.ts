import { rmSync, watch } from "node:fs"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import {
  binariesFolder,
  binariesVariable,
  checkBinaries,
  endWithThisProcess,
  folderVariable,
  removeIn,
  serverNames,
  temporaryFolder
} from "./PostgresServer.ts"
import { startFailure } from "./TestDatabase.ts"

/**
 * Gives a test run a folder for its servers; the first test that needs one starts it there. Returns a function that
 * stops them. If PostgreSQL cannot run, or a server does not start, the run ends immediately.
 */
export const setup = (project: TestProject) => {
  checkBinaries()
  process.env[binariesVariable] = binariesFolder()
  const folder = temporaryFolder()
  process.env[folderVariable] = folder
  const servers = serverNames.map((name) => join(folder, name))
  endWithThisProcess(servers, folder)
  const watcher = watch(folder, () => {
    const failure = startFailure(folder)
    if (failure === null) return
    watcher.close()
    console.error(failure)
    process.exitCode = 1
    void project.vitest.cancelCurrentRun("test-failure")
  })
  return async () => {
    watcher.close()
    for (const server of servers) await removeIn(server)
    rmSync(folder, { recursive: true, force: true })
  }
}
