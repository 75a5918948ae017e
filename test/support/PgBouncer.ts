import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chownSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { waitUntil } from "./eventually.ts"
import { freePort, owner, temporaryFolder } from "./PostgresServer.ts"

/*
 * A real PgBouncer for tests: the program in the PATH, or the one that QUOTEWIRE_TEST_PGBOUNCER names.
 */

/** The environment variable with the path of the program. */
export const pgBouncerVariable = "QUOTEWIRE_TEST_PGBOUNCER"

const chosen = process.env[pgBouncerVariable]
const program = chosen ?? "pgbouncer"

const versionOf = (): string | null => {
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8" })
  if (status === 0) return /PgBouncer (\S+)/.exec(stdout)?.[1] ?? "unknown"
  if (chosen === undefined) return null
  throw new Error(`PgBouncer cannot run: install it, or set ${pgBouncerVariable} to the path of its program.`)
}

/** The version of the installed PgBouncer; null if there is none. */
export const pgBouncerVersion = versionOf()

/** When PgBouncer takes a connection from a client: after its session, or after each of its transactions. */
export type PoolMode = "session" | "transaction"

/** A running PgBouncer. */
export interface PgBouncer {
  /** The address of a database behind it. */
  readonly url: string
  readonly stop: () => Promise<void>
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

// The pipe closes however this process ends.
const watch = `"$0" --quiet "$1" & cat > /dev/null
kill -KILL $!
wait
rm -rf "$(dirname "$1")"`

/** Starts one in front of a database. It ends with this process. */
export const startPgBouncer = async (
  database: string,
  mode: PoolMode,
  settings: Readonly<Record<string, string>> = {}
): Promise<PgBouncer> => {
  const target = new URL(database)
  const name = target.pathname.slice(1)
  const port = await freePort()
  const folder = temporaryFolder()
  const server = `host=${target.hostname} port=${target.port} dbname=${name} user=${target.username} password=${target.password}`
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: mode,
    ...settings
  }
  const file = join(folder, "pgbouncer.ini")
  const lines = Object.entries(all).map(([key, value]) => `${key} = ${value}`)
  writeFileSync(file, ["[databases]", `${name} = ${server}`, "[pgbouncer]", ...lines, ""].join("\n"))
  const user = owner()
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  const child = spawn("sh", ["-c", watch, program, file], { ...user, cwd: "/", stdio: ["pipe", "ignore", "pipe"] })
  const ended = once(child, "exit")
  let log = ""
  child.stderr.on("data", (data) => {
    log = `${log}${data}`.slice(-4_000)
  })
  const failed = ended.then(() => {
    throw new Error(`PgBouncer did not start: ${log}`)
  })
  await waitUntil(() => isOpen(port), { unless: failed })
  return {
    url: `postgres://${target.username}:${target.password}@127.0.0.1:${port}/${name}`,
    stop: async () => {
      child.stdin.end()
      await ended
    }
  }
}
