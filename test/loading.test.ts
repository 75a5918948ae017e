import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { root } from "./support/sources.ts"

/*
 * Budgets for what programs load, a few percent above today's figures. Each module costs about half a millisecond of
 * processor time. If a budget is exceeded on purpose, raise it here, and measure again (bench/costs.md, Loading).
 */

/** Counts the files that a process loads, and prints their number to standard error when it ends. */
const counter = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from "node:module"
let count = 0
registerHooks({ load: (url, context, next) => { if (url.startsWith("file:")) count++; return next(url, context) } })
process.on("exit", () => process.stderr.write(String(count)))
`)}`

const filesLoadedBy = async (...args: ReadonlyArray<string>): Promise<number> => {
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", counter, ...args], { cwd: root })
  return Number(stderr)
}

const importing = (specifier: string) => ["--input-type=module", "--eval", `import "${specifier}"`]
const command = join(root, "packages/cli/bin/quotewire.js")

describe("code size limits", () => {
  it.each([
    { what: "@quotewire/core", args: importing("@quotewire/core"), most: 195 },
    { what: "@quotewire/core/program", args: importing("@quotewire/core/program"), most: 150 },
    { what: "@quotewire/core/client", args: importing("@quotewire/core/client"), most: 4 },
    { what: "@quotewire/http/client", args: importing("@quotewire/http/client"), most: 6 },
    { what: "quotewire keys list --help", args: [command, "keys", "list", "--help"], most: 250 }
  ])("$what loads at most $most files", async ({ args, most }) => {
    assert.isAtMost(await filesLoadedBy(...args), most)
  })

  it.each([
    { name: "embed", from: "@quotewire/core", most: 830 },
    { name: "verifyWebhook", from: "@quotewire/core", most: 112 },
    { name: "nodeHandler", from: "@quotewire/http", most: 1_000 },
    { name: "connect", from: "@quotewire/http/client", most: 15 }
  ])("$name takes at most $most KB when bundled and minified", async ({ from, most, name }) => {
    const contents = `import { ${name} } from "${from}"; console.log(${name})`
    const stdin = { contents, resolveDir: root }
    const bundled = await build({ stdin, bundle: true, minify: true, platform: "node", format: "esm", write: false })
    assert.isAtMost((bundled.outputFiles[0]?.contents.length ?? Number.NaN) / 1_000, most)
  })
})
