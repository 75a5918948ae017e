import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { PostgresServer } from "../../test/support/PostgresServer.ts"
import * as Hosts from "./Hosts.ts"

/** Some hosts and the PostgreSQL that they share, as they run in production: each a process of its own. */
export interface Service {
  readonly server: PostgresServer
  /** The address of the database. */
  readonly url: string
  readonly hosts: readonly [Hosts.Host, ...ReadonlyArray<Hosts.Host>]
  /** Makes an organization, and answers the server key of its sandbox. */
  readonly newKey: (organization: string) => Promise<string>
  /** Ends everything, and removes the data. */
  readonly close: () => Promise<void>
}

/** Starts a PostgreSQL and, all at once, as many hosts, which find it empty. */
export const open = async (options: { readonly hosts: 1 | 2; readonly durable: boolean }): Promise<Service> => {
  const server = await PostgresServer.start({ durable: options.durable })
  const url = server.url("postgres")
  const env = {
    QUOTEWIRE_DATABASE_URL: url,
    QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64"),
    QUOTEWIRE_WEBHOOK_ALLOW: "127.0.0.0/8"
  }
  const first = Hosts.make(await freePort(), env)
  const hosts = [first, ...(options.hosts === 2 ? [Hosts.make(await freePort(), env)] : [])] as const
  const close = async () => {
    for (const host of hosts) await host.kill()
    await server.remove()
  }
  try {
    await Promise.all(hosts.map((host) => host.start()))
  } catch (error) {
    await close()
    throw error
  }
  return { server, url, hosts, newKey: (organization) => newKey(env, organization), close }
}

type Env = Readonly<Record<string, string>>

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))

const command = async (env: Env, ...args: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, "--json"], {
    env: { ...process.env, ...env }
  })
  return JSON.parse(stdout)
}

const newKey = async (env: Env, organization: string): Promise<string> => {
  const { organization_id } = await command(env, "organizations", "create", organization)
  const scope = ["--organization", organization_id, "--environment", "sandbox", "--kind", "server"]
  return (await command(env, "keys", "create", ...scope)).key
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
