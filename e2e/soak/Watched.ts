import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { PostgresServer } from "../../test/support/PostgresServer.ts"

/** The memory of a process, in bytes. */
export interface Memory {
  /** The reachable part of the heap. */
  readonly heap: number
  /** The pages that V8 holds for the heap. */
  readonly heap_pages: number
  /** Memory outside the heap that V8 knows of, such as buffers. */
  readonly external: number
  readonly rss: number
}

/** A host on PostgreSQL that can be inspected. */
export interface Watched {
  readonly base_url: string
  readonly keys: { readonly sandbox: string; readonly live: string }
  readonly database_url: string
  /** The key that opens the host's sealed data. */
  readonly seal_key: string
  readonly pid: number
  readonly ports: { readonly server: number; readonly database: number }
  /** Its memory after a full garbage collection. */
  readonly memory: () => Promise<Memory>
  /** Its current resident set size, in bytes. */
  readonly rss: () => number
  /** The last 20,000 characters of its standard error. */
  readonly said: () => string
  readonly close: () => Promise<void>
}

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))
const config = fileURLToPath(new URL("carriers.config.ts", import.meta.url))
const probe = fileURLToPath(new URL("Probe.ts", import.meta.url))

/**
 * Starts a PostgreSQL server and a host on it with a carrier for live work, and creates an organization with a key for
 * each environment.
 */
export const open = async ({ offers_ms }: { readonly offers_ms: number }): Promise<Watched> => {
  const server = await PostgresServer.start({ durable: false })
  const seal_key = randomBytes(32).toString("base64")
  const env = {
    ...process.env,
    QUOTEWIRE_DATABASE_URL: server.url("postgres"),
    QUOTEWIRE_SEAL_KEYS: seal_key,
    SOAK_OFFERS_MS: String(offers_ms),
    QUOTEWIRE_WEBHOOK_ALLOW: "127.0.0.0/8"
  }
  const args = [
    "--expose-gc",
    "--import",
    probe,
    program,
    "serve",
    "--port",
    "0",
    "--json",
    "--no-limits",
    "--migrate",
    "--config",
    config
  ]
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] })
  // Kills the host even if the soak itself fails.
  process.once("exit", () => child.kill("SIGKILL"))
  let said = ""
  child.stderr?.on("data", (bytes) => {
    said = (said + bytes).slice(-20_000)
  })
  const command = async (...words: ReadonlyArray<string>) =>
    JSON.parse((await promisify(execFile)(process.execPath, [program, ...words, "--json"], { env })).stdout)

  const base_url = await readyAt(child, () => said)
  const { organization_id } = await command("organizations", "create", "Soak")
  const keyOf = async (environment: string): Promise<string> => {
    const scope = ["--organization", organization_id, "--environment", environment, "--kind", "server"]
    return (await command("keys", "create", ...scope)).key
  }
  const keys = { sandbox: await keyOf("sandbox"), live: await keyOf("live") }
  const pid = child.pid ?? 0
  return {
    base_url,
    keys,
    database_url: server.url("postgres"),
    seal_key,
    pid,
    ports: { server: Number(new URL(base_url).port), database: server.port },
    memory: async () => {
      const answered = once(child, "message")
      child.send("memory")
      const [{ external, heapTotal, heapUsed, rss }] = await answered
      return { heap: heapUsed, heap_pages: heapTotal, external, rss }
    },
    rss: () => 1_024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]),
    said: () => said,
    close: async () => {
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      await ended
      await server.remove()
    }
  }
}

const readyAt = async (child: ChildProcess, said: () => string): Promise<string> => {
  const line = child.stdout === null ? [] : await Promise.race([once(child.stdout, "data"), once(child, "exit")])
  if (child.exitCode !== null) throw new Error(`The host has ended at its start: ${said()}`)
  return JSON.parse(String(line[0])).base_url
}
