import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endWithThisProcess, folder_variable, removeIn } from "./PostgresServer.ts"

/** Gives a run of tests a folder for a server; the first test that needs one starts it there. Answers how to end it. */
export const setup = () => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-postgres-"))
  // Its server may run as another user.
  chmodSync(folder, 0o755)
  process.env[folder_variable] = folder
  endWithThisProcess(join(folder, "server"), folder)
  return async () => {
    await removeIn(join(folder, "server"))
    rmSync(folder, { recursive: true, force: true })
  }
}
