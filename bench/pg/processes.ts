import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Child from "../Child.ts"
import type { Flags } from "../flags.ts"
import type { Load, Loaded } from "../http/load.ts"
import type { Table } from "../report.ts"
import * as starts from "../starts.ts"
import * as Databases from "./Databases.ts"
import * as turns from "./turns.ts"

const program = fileURLToPath(new URL("../../packages/cli/bin/quotewire.js", import.meta.url))

/** The variables of the commands on a database. */
const variablesOf = (url: string): NodeJS.ProcessEnv => ({
  ...process.env,
  QUOTEWIRE_DATABASE_URL: url,
  QUOTEWIRE_SEAL_KEYS: Buffer.alloc(32, 1).toString("base64")
})

/** Runs a command that prints one line of JSON. */
const printed = async (env: NodeJS.ProcessEnv, ...args: ReadonlyArray<string>) =>
  JSON.parse((await promisify(execFile)(process.execPath, [program, ...args, "--json"], { env })).stdout)

/** A key of a new organization's sandbox. */
const newKey = async (env: NodeJS.ProcessEnv): Promise<string> => {
  const { organization_id } = await printed(env, "organizations", "create", "Bench")
  const scope = ["--organization", organization_id, "--environment", "sandbox", "--kind", "server"]
  return (await printed(env, "keys", "create", ...scope)).key
}

/** The command with so many processes, which only answer. */
const serve = async (env: NodeJS.ProcessEnv, count: number) => {
  const args = ["serve", "--port", "0", "--json", "--no-limits", "--no-worker", "--processes", `${count}`]
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ["ignore", "pipe", "ignore"] })
  const [line] = await once(child.stdout, "data")
  const base_url: string = JSON.parse(String(line)).base_url
  const stop = async () => {
    child.kill("SIGTERM")
    await once(child, "exit")
  }
  return { count, base_url, stop }
}

/** A quote to read. */
const makeQuote = async (base_url: string, key: string): Promise<string> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "the-time" }
  const call = async (path: string, body?: object) => {
    const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) }
    return (await fetch(`${base_url}${path}`, init)).json()
  }
  const { id } = await call("/v1/quote-requests", starts.smallest("the-quote"))
  await call("/v1/sandbox/time", { seconds: 60 })
  return (await call(`/v1/quote-requests/${id}`)).quotes[0].id
}

type Sent = Pick<Load, "method" | "path" | "body" | "status">

const counts = [1, 2]

const nameOf = (what: string, count: number): string => `${what}, ${count === 1 ? "1 process" : `${count} processes`}`

/** Measures reads and starts by the command with one process and with two, on one database, in turns. */
export const run = ({ connections, quick, rounds, seconds }: Flags) =>
  Databases.using((databases) =>
    Databases.onFresh(databases, async (url) => {
      const env = variablesOf(url)
      const key = await newKey(env)
      // Two processes need both cores, so nothing is held to one.
      const load = Child.start("http/load.ts", null)
      const hosts: Array<Awaited<ReturnType<typeof serve>>> = []
      try {
        for (const count of counts) hosts.push(await serve(env, count))
        const quote_id = await makeQuote(hosts[0]?.base_url ?? "", key)
        const household = JSON.stringify({ ...starts.household("{unique}"), scenario: "waits_in_queue" })
        const sent: Readonly<Record<string, Sent>> = {
          reads: { method: "GET", path: `/v1/quotes/${quote_id}`, body: null, status: 200 },
          starts: { method: "POST", path: "/v1/quote-requests", body: household, status: 202 }
        }
        const all = Object.entries(sent).flatMap(([what, each]) =>
          hosts.map(({ base_url, count }) => ({
            name: nameOf(what, count),
            ask: (seconds: number, at_most: number) =>
              load.ask<Loaded>({ ...each, port: Number(new URL(base_url).port), key, connections, seconds, at_most })
          }))
        )
        for (const { ask } of all) await ask(60, quick ? 3_000 : 25_000)
        const contenders = all.map(({ ask, name }) => ({ name, measure: () => ask(seconds, Number.MAX_SAFE_INTEGER) }))
        return await turns.take("processes", contenders, rounds)
      } finally {
        await Promise.all([load.stop(), ...hosts.map(({ stop }) => stop())])
      }
    })
  )

const perSecond = ({ requests, seconds }: Loaded): number => requests / seconds

/** The rows as they are printed. */
export const tableOf = (all: ReadonlyArray<turns.Measured<Loaded>>): Table => ({
  name: "processes",
  title: "PostgreSQL: the command with one process and with two, on the same two cores as the load and the database",
  columns: ["requests", "requests/s", "throughput, 1 process = 1", "p50", "p99"],
  rows: all.map((measured) => [
    measured.name,
    Math.round(turns.middle(measured, perSecond)).toLocaleString("en-US"),
    turns.ratio(measured, turns.named(all, nameOf(measured.name.split(",")[0] ?? "", 1)), perSecond).toFixed(2),
    `${turns.middle(measured, ({ p50_ms }) => p50_ms).toFixed(1)} ms`,
    `${turns.middle(measured, ({ p99_ms }) => p99_ms).toFixed(1)} ms`
  ]),
  how: null,
  numbers: all.map(({ name, rounds }) => ({ name, rounds: rounds.map(({ sample: _, ...round }) => round) }))
})
