import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync } from "node:fs"
import { basename, join } from "node:path"
import { connect } from "@quotewire/http/client"
import { manifest, root } from "../test/support/sources.ts"
import { npm, withInstalledPackages } from "./installPackages.ts"

/*
 * Runs `examples/embed.ts` on the packed packages with every supported runtime (`npm run runtimes`). Fails if a
 * runtime's quotes differ from those of this repository's Node. Then Bun and Deno serve `examples/frameworks/bun.ts`.
 *
 * The script first installs the runtimes into `test/runtimes`. They are not installed with the repository, because they
 * take 380 MB.
 */

const runtimes = join(root, "test/runtimes")
const inRuntimes = (name: string) => join(runtimes, "node_modules/.bin", name)

const commands: ReadonlyArray<readonly [program: string, ...args: ReadonlyArray<string>]> = [
  [inRuntimes("node")],
  [inRuntimes("bun")],
  [inRuntimes("deno"), "run", "--allow-all", "--node-modules-dir=manual"]
]

/** The output of a program, without whitespace and quotation marks, because runtimes print values differently. */
const output = (folder: string, program: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(program, args, { cwd: folder, encoding: "utf8" }).replaceAll(/[\s"',]+/g, " ")

/** The commands with which runtimes serve a module's default export, on a free port. */
const servers: ReadonlyArray<readonly [program: string, ...args: ReadonlyArray<string>]> = [
  [inRuntimes("bun")],
  [inRuntimes("deno"), "serve", "--allow-all", "--node-modules-dir=manual", "--port", "0"]
]

/** Starts a server, calls it over HTTP, and stops it. */
const serve = async (folder: string, program: string, ...args: ReadonlyArray<string>): Promise<void> => {
  const server = spawn(program, [...args, "bun.ts"], { cwd: folder, env: { ...process.env, PORT: "0" } })
  try {
    let printed = ""
    const find = (pattern: RegExp) => pattern.exec(printed)?.[1]
    const read = (bytes: unknown) => {
      printed += bytes
    }
    server.stdout.on("data", read)
    server.stderr.on("data", read)
    const port = () => find(/http:\/\/[^\s/]+:(\d+)/)
    while (port() === undefined || find(/key: (\S+)/) === undefined) {
      await Promise.race([once(server.stdout, "data"), once(server.stderr, "data"), ended(server, () => printed)])
    }
    const base_url = `http://127.0.0.1:${port()}/insurance`
    const client = connect({ base_url, key: find(/key: (\S+)/) ?? "" })
    const { id } = await client.start_quote_request({
      line: "renters",
      request_key: "first",
      consent_receipt_id: "receipt-0001",
      application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } },
      scenario: "waits_in_queue"
    })
    // Waits longer than the ten seconds after which Bun closes connections by default.
    const { quote_request } = await client.get_quote_request({ id, since_version: 1, wait_seconds: 12 })
    if (quote_request.status !== "in_progress") throw new Error(`${basename(program)} found it ${quote_request.status}`)
    const docs = await fetch(`${base_url}/docs`)
    if (!(await docs.text()).includes("</html>")) throw new Error(`${basename(program)} serves no documentation`)
    console.log(`${basename(program)}: serves the API and its documentation`)
  } finally {
    server.kill("SIGKILL")
  }
}

const ended = async (child: ChildProcess, printed: () => string): Promise<never> => {
  await once(child, "close")
  throw new Error(`The server has ended: ${printed()}`)
}

npm(runtimes, "install", "--no-package-lock")

await withInstalledPackages(async (folder) => {
  copyFileSync(join(root, "examples/embed.ts"), join(folder, "embed.ts"))
  const expected = output(folder, process.execPath, "embed.ts")
  for (const [program, ...args] of commands) {
    const [version = ""] = execFileSync(program, ["--version"], { encoding: "utf8" }).split("\n")
    const name = basename(program)
    const printed = output(folder, program, ...args, "embed.ts")
    if (printed !== expected) throw new Error(`${name} ${version} found ${printed}, not ${expected}`)
    console.log(`${name} ${version.replace(/^\D+/, "").replace(/ .*/, "")}: the same quotes as Node ${process.version}`)
  }
  npm(folder, "install", `hono@${manifest(".").devDependencies?.hono}`)
  for (const file of ["quotewire.ts", "bun.ts"]) {
    copyFileSync(join(root, "examples/frameworks", file), join(folder, file))
  }
  for (const [program, ...args] of servers) await serve(folder, program, ...args)
})
