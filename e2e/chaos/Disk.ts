import { execFileSync } from "node:child_process"
import { chmodSync, rmSync, statfsSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { endWithThisProcess, temporaryFolder } from "../../test/support/PostgresServer.ts"

const sizeBytes = 2 * 1_024 ** 3
const maxTries = 100

const mount = (...args: ReadonlyArray<string>): boolean => {
  try {
    execFileSync("mount", args, { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/**
 * The disk of one server: a tmpfs, which becomes full when it is remounted with its used size.
 *
 * Only root may mount. For other users it is a folder that never fills up.
 */
export class Disk {
  /** Where the server keeps its data. */
  readonly home: string
  readonly canFill: boolean
  private readonly folder: string

  private constructor(folder: string, canFill: boolean) {
    this.folder = folder
    this.canFill = canFill
    this.home = join(folder, "server")
    chmodSync(folder, 0o777)
    endWithThisProcess([this.home], folder)
  }

  static make(): Disk {
    const folder = temporaryFolder()
    const mayMount = process.platform === "linux" && userInfo().uid === 0
    return new Disk(folder, mayMount && mount("-t", "tmpfs", "-o", `size=${sizeBytes}`, "tmpfs", folder))
  }

  /** Fills the disk: every write that needs more space fails with ENOSPC. */
  fill(): void {
    // Retried: the server keeps writing, and a disk cannot become smaller than its content.
    for (let tries = 1; tries <= maxTries; tries++) {
      const { bfree, blocks, bsize } = statfsSync(this.folder)
      if (this.resize((blocks - bfree) * bsize)) return
    }
    throw new Error("The disk could not be filled")
  }

  /** Gives the disk its full size again. */
  free(): void {
    if (!this.resize(sizeBytes)) throw new Error(`No disk of ${sizeBytes} bytes`)
  }

  /** Removes the disk and everything on it. */
  remove(): void {
    if (this.canFill) execFileSync("umount", ["-l", this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }

  private resize(bytes: number): boolean {
    return mount("-o", `remount,size=${bytes}`, this.folder)
  }
}
