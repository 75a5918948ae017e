import { on, once } from "node:events"
import { mkdirSync, readFileSync, rmSync, statSync, watch, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { generateSealKey } from "@quotewire/core"
import { Effect } from "effect"
import { temporaryFolder } from "./support/folder.ts"
import { host, launch, program, run, start, stopped } from "./support/program.ts"

/** PGlite takes seconds to start on a busy machine. */
const longest = 180_000
/** How many times a host is killed. */
const rounds = Number(process.env.QUOTEWIRE_TEST_KILLS ?? 3)

interface Ready {
  readonly base_url: string
  readonly organization_id: string
  readonly keys: { readonly server: string; readonly widget: string; readonly platform: string }
  readonly operator_token: string
}

/** A sandbox on a folder, until the scope closes. */
const sandbox = (folder: string) =>
  Effect.map(host(["dev", "--port", "0", "--json", "--no-limits", "--data", folder]), ({ child, output }) => {
    const ready: Ready = JSON.parse(output())
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${ready.base_url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${ready.keys.server}`,
          ...(body !== undefined && { "content-type": "application/json", "idempotency-key": crypto.randomUUID() })
        },
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      return { status: response.status, body: await response.json() }
    }
    return { ready, child, call }
  })

type Sandbox = Effect.Success<ReturnType<typeof sandbox>>

const dataIn = Effect.map(temporaryFolder, (folder) => join(folder, "data"))

const stop = (child: Parameters<typeof stopped>[0]) =>
  Effect.promise(async () => {
    child.kill("SIGINT")
    const [code] = await once(child, "close")
    return code
  })

const secretsOf = ({ keys, operator_token, organization_id }: Ready) => ({ keys, operator_token, organization_id })

const missingPglite = [
  'import { registerHooks } from "node:module"',
  "const resolve = (name, context, next) => {",
  '  if (name === "@electric-sql/pglite") throw Object.assign(new Error("none"), { code: "ERR_MODULE_NOT_FOUND" })',
  "  return next(name, context)",
  "}",
  "registerHooks({ resolve })"
].join("\n")

/** Starts a host on a new folder, and kills it as soon as it begins to create the database. */
const killedWhileItCreates = async (folder: string) => {
  mkdirSync(folder)
  const watcher = watch(folder)
  const { child } = start(["dev", "--port", "0", "--json", "--data", folder])
  for await (const [, name] of on(watcher, "change")) if (name === "database.unfinished") break
  watcher.close()
  await stopped(child)
}

/** Sends concurrent reports until this many are acknowledged; returns the ids of all reports acknowledged by then. */
const sendReports = async ({ call }: Sandbox, count: number, acknowledged: Set<string>) => {
  const until = acknowledged.size + count
  const sender = async () => {
    while (acknowledged.size < until) {
      const text = "It is a test."
      const sent = await call("POST", "/v1/feedback", { kind: "bug", summary: text, expected: text, actual: text })
      assert.strictEqual(sent.status, 201, JSON.stringify(sent.body))
      acknowledged.add(sent.body.feedback_id)
    }
  }
  await Promise.all([sender(), sender(), sender()])
}

/** Kills a host while calls are running, after this many acknowledged reports. */
const killWhileSending = async (host: Sandbox, count: number, acknowledged: Set<string>) => {
  await sendReports(host, count, acknowledged)
  // These are in progress when the host is killed; responses that still arrive count.
  const late = sendReports(host, 1_000, acknowledged).catch(() => {})
  host.child.kill("SIGKILL")
  await late
}

describe("quotewire dev --data", () => {
  it.live(
    "keeps the organization, the keys and the clock across restarts",
    () =>
      Effect.gen(function* () {
        const folder = yield* dataIn
        const secrets = yield* Effect.scoped(
          Effect.gen(function* () {
            const first = yield* sandbox(folder)
            const advanced = yield* Effect.promise(() => first.call("POST", "/v1/sandbox/time", { seconds: 86_400 }))
            assert.strictEqual(advanced.status, 200, JSON.stringify(advanced.body))
            assert.strictEqual(yield* stop(first.child), 0)
            return secretsOf(first.ready)
          })
        )
        assert.strictEqual(statSync(join(folder, "sandbox.json")).mode & 0o777, 0o600)
        const again = yield* sandbox(folder)
        assert.deepStrictEqual(secretsOf(again.ready), secrets)
        const { body } = yield* Effect.promise(() => again.call("GET", "/v1/sandbox"))
        assert.strictEqual(body.clock_offset_seconds, 86_400)
        const second = yield* run(["dev", "--port", "0", "--data", folder])
        assert.strictEqual(second.code, 1)
        assert.include(second.stderr, `${folder} is in use by the process ${again.child.pid}`)
      }),
    longest
  )

  it.live(
    "loses no acknowledged data and no key when killed at any moment",
    () =>
      Effect.gen(function* () {
        const seed = Number(process.env.QUOTEWIRE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
        console.log(`QUOTEWIRE_TEST_SEED=${seed}`)
        const folder = yield* dataIn
        yield* Effect.promise(() => killedWhileItCreates(folder))
        const acknowledged = new Set<string>()
        let secrets: ReturnType<typeof secretsOf> | null = null
        for (let round = 0; round < rounds; round++) {
          const started = yield* Effect.scoped(
            Effect.gen(function* () {
              const opened = yield* sandbox(folder)
              for (const id of acknowledged) {
                const { status } = yield* Effect.promise(() => opened.call("GET", `/v1/feedback/${id}`))
                assert.strictEqual(status, 200, `seed ${seed}, round ${round}: ${id} is lost`)
              }
              yield* Effect.promise(() => killWhileSending(opened, 1 + ((seed >> (round * 5)) & 31), acknowledged))
              return secretsOf(opened.ready)
            })
          )
          secrets ??= started
          assert.deepStrictEqual(started, secrets, `seed ${seed}, round ${round}`)
        }
      }),
    longest
  )

  it.live(
    "refuses a database with a missing or wrong key file, and explains what to do",
    () =>
      Effect.gen(function* () {
        const folder = yield* dataIn
        yield* Effect.scoped(Effect.flatMap(sandbox(folder), ({ child }) => stop(child)))
        const file = join(folder, "sandbox.json")
        const content = JSON.parse(readFileSync(file, "utf8"))
        const refusal = `quotewire: sandbox.json in ${folder} does not have the keys of the database there: restore sandbox.json, or remove the folder to start over.\n`
        const refused = run(["dev", "--port", "0", "--data", folder])
        rmSync(file)
        assert.strictEqual((yield* refused).stderr, refusal)
        writeFileSync(file, JSON.stringify({ ...content, seal_key: generateSealKey() }))
        assert.strictEqual((yield* refused).stderr, refusal)
        writeFileSync(file, "{}")
        const { stderr } = yield* refused
        assert.include(stderr, "is not the file that this command wrote")
      }),
    longest
  )

  it.live("names the package to install if PGlite is missing", () =>
    Effect.gen(function* () {
      const folder = yield* dataIn
      const hook = `data:text/javascript,${encodeURIComponent(missingPglite)}`
      const { code, stderr } = yield* Effect.promise(
        () => launch(["--import", hook, program, "dev", "--port", "0", "--data", folder]).ended
      )
      assert.strictEqual(code, 1)
      assert.match(stderr, /^quotewire: .* npm install @electric-sql\/pglite@\d+\.\d+\.\d+\n$/)
    })
  )
})
