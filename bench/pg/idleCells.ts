import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { statements } from "../../test/support/TestDatabase.ts"
import { cpuOf, cpuOfServers, fileOf, using, wait } from "./cellServers.ts"

/*
 * Measures the CPU time of hosts and databases while there is nothing to do: `npx node bench/pg/idleCells.ts` after a build, some five minutes.
 * Numbers on the command line are the hosts, the cells and the seconds. The cells are schemas on two servers.
 */

const [hosts = 8, cells = 64, seconds = 60] = process.argv.slice(2).map(Number)
/** After this time, every host polls idle cells at the lowest rate. */
const settle_seconds = 80

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))

const startHost = async (file: string) => {
  const env = { ...process.env, QUOTEWIRE_CELLS: file, QUOTEWIRE_SEAL_KEYS: Buffer.alloc(32, 1).toString("base64") }
  const args = [program, "work", "--base-url", "http://127.0.0.1:1", "--json"]
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] })
  await once(child.stdout, "data")
  return child
}

await using(
  2,
  cells,
  async ({ cells: all, servers }) => {
    const folder = mkdtempSync(join(tmpdir(), "quotewire-idle-"))
    const file = join(folder, "cells.json")
    writeFileSync(file, fileOf(all))
    const children: Array<Awaited<ReturnType<typeof startHost>>> = []
    for (let host = 0; host < hosts; host++) children.push(await startHost(file))
    try {
      await wait(settle_seconds)
      const [sessions] = await statements(servers[0]?.url("postgres") ?? "", "select count(*) from pg_stat_activity")
      const sum = async (what: "xact_commit" | "sessions") => {
        const text = `select sum(${what})::int as sum from pg_stat_database`
        const all = await Promise.all(servers.map((server) => statements(server.url("postgres"), text)))
        return all.reduce((total, [row]) => total + Number(row?.sum), 0)
      }
      const used = async () => ({
        statements: await sum("xact_commit"),
        sessions: await sum("sessions"),
        hosts: children.reduce((sum, { pid = 0 }) => sum + cpuOf(pid), 0),
        servers: cpuOfServers(servers)
      })
      const before = await used()
      await wait(seconds)
      const after = await used()
      const perSecond = (name: "statements" | "sessions") => ((after[name] - before[name]) / seconds).toFixed(1)
      const part = (name: "hosts" | "servers") => (100 * (after[name] - before[name])) / seconds
      console.log(`${hosts} hosts, ${cells} cells, ${seconds} s, ${sessions?.count} sessions on the first server:`)
      console.log(`${perSecond("statements")} statements and ${perSecond("sessions")} new sessions a second`)
      console.log(`hosts ${part("hosts").toFixed(2)} %, databases ${part("servers").toFixed(2)} % of a core`)
    } finally {
      for (const child of children) {
        child.kill("SIGTERM")
        await once(child, "exit")
      }
      rmSync(folder, { recursive: true })
    }
  },
  false
)
