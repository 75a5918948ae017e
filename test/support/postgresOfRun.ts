import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endWithThisProcess, folder_variable, removeIn, serverNames } from "./PostgresServer.ts"

/** Gives a run of tests a folder for its servers; the first test that needs one starts it there. Answers how to end them. */
export const setup = () => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-postgres-"))
  // Its servers may run as another user.
  chmodSync(folder, 0o755)
  process.env[folder_variable] = folder
  const servers = serverNames.map((name) => join(folder, name))
  endWithThisProcess(servers, folder)
  return async () => {
    for (const server of servers) await removeIn(server)
    rmSync(folder, { recursive: true, force: true })
  }
}
