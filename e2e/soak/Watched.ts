import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { PostgresServer } from "../../test/support/PostgresServer.ts"

/** A host on PostgreSQL that can be looked into. */
export interface Watched {
  readonly base_url: string
  readonly key: string
  readonly pid: number
  readonly ports: { readonly server: number; readonly database: number }
  /** What it holds in its heap after a full collection, in bytes. */
  readonly heap: () => Promise<number>
  /** What the system has given it, in bytes. */
  readonly rss: () => number
  /** What it has said on standard error, its last 20,000 characters. */
  readonly said: () => string
  readonly close: () => Promise<void>
}

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))
const probe = fileURLToPath(new URL("Probe.ts", import.meta.url))

/** Starts a PostgreSQL, a host on it, and an organization with one key of its sandbox. */
export const open = async (): Promise<Watched> => {
  const server = await PostgresServer.start({ durable: false })
  const env = {
    ...process.env,
    QUOTEWIRE_DATABASE_URL: server.url("postgres"),
    QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64"),
    QUOTEWIRE_WEBHOOK_ALLOW: "127.0.0.0/8"
  }
  const args = ["--expose-gc", "--import", probe, program, "serve", "--port", "0", "--json", "--no-limits", "--migrate"]
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] })
  let said = ""
  child.stderr?.on("data", (bytes) => {
    said = (said + bytes).slice(-20_000)
  })
  const command = async (...words: ReadonlyArray<string>) =>
    JSON.parse((await promisify(execFile)(process.execPath, [program, ...words, "--json"], { env })).stdout)

  const base_url = await readyAt(child, () => said)
  const { organization_id } = await command("organizations", "create", "Soak")
  const scope = ["--organization", organization_id, "--environment", "sandbox", "--kind", "server"]
  const { key } = await command("keys", "create", ...scope)
  const pid = child.pid ?? 0
  return {
    base_url,
    key,
    pid,
    ports: { server: Number(new URL(base_url).port), database: server.port },
    heap: async () => {
      const answered = once(child, "message")
      child.send("heap")
      const [bytes]: ReadonlyArray<number> = await answered
      return bytes ?? 0
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
