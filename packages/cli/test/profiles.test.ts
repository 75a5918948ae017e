import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryFolder } from "./support/folder.ts"
import { runInProcess } from "./support/inProcess.ts"
import { host, server, unknownKey } from "./support/servedHost.ts"

/** A home folder without profiles, and a host. */
const fresh = Effect.gen(function* () {
  const home = yield* temporaryFolder
  const { address, keys } = yield* host
  const env = { XDG_CONFIG_HOME: home }
  const folder = `${home}/quotewire`
  return { address, keys, env, folder, file: `${folder}/profiles.json` }
})

const list = ["events", "list", "--json"]

describe("quotewire login", () => {
  it.live("saves a key from standard input for later calls to the key's host", () =>
    Effect.gen(function* () {
      const { address, env, file, folder, keys } = yield* fresh
      const kept = yield* runInProcess(["login", "--base-url", address], env, `${keys.server}\n`)
      assert.deepStrictEqual([kept.how, kept.err], ["done", ""])
      assert.strictEqual(kept.out, `Saved: default  sandbox server  ${address}`)
      const called = yield* runInProcess(list, env)
      assert.deepStrictEqual([called.how, called.err], ["done", ""])
      assert.deepStrictEqual(
        [file, folder].map((path) => statSync(path).mode & 0o777),
        [0o600, 0o700]
      )
      assert.deepStrictEqual(readdirSync(folder), ["profiles.json"])
    })
  )

  it.live("prompts for the key at a terminal without showing the key", () =>
    Effect.gen(function* () {
      const { address, env, keys } = yield* fresh
      const kept = yield* runInProcess(["login", "--base-url", address], env, { typed: keys.server })
      assert.strictEqual(kept.how, "done", kept.err)
      assert.include(kept.out, "API key for")
      for (let end = 12; end <= keys.server.length; end++) assert.notInclude(kept.out, keys.server.slice(end - 12, end))
      assert.strictEqual((yield* runInProcess(list, env)).how, "done")
    })
  )

  it.live("saves keys of several kinds, and lists the kinds without the keys", () =>
    Effect.gen(function* () {
      const { address, env, keys } = yield* fresh
      yield* runInProcess(["login", "--base-url", address], env, keys.server)
      yield* runInProcess(["login", "--base-url", address, "--profile", "page"], env, keys.widget)
      const { out } = yield* runInProcess(["profiles", "list", "--json"], env)
      assert.deepStrictEqual(JSON.parse(out), {
        profiles: [
          { name: "default", base_url: address, environment: "sandbox", kind: "server" },
          { name: "page", base_url: address, environment: "sandbox", kind: "widget" }
        ]
      })
      const page = yield* runInProcess(["profiles", "list"], env)
      assert.strictEqual(page.out, `default  sandbox server  ${address}\npage  sandbox widget  ${address}`)
    })
  )

  it.live("does not save a key that is malformed, refused by the host or impossible to check", () =>
    Effect.gen(function* () {
      const { address, env, file } = yield* fresh
      const gone = yield* server(() => {})
      yield* Effect.promise(gone.close)
      const cases = [
        [address, unknownKey("sandbox")],
        [gone.address, unknownKey("live")],
        [address, "Zq7xZq7x"]
      ] as const
      for (const [base_url, key] of cases) {
        const { err, how, out } = yield* runInProcess(["login", "--verbose", "--base-url", base_url], env, key)
        assert.deepStrictEqual([how, out], ["failed", ""])
        assert.notInclude(err, key)
        assert.isFalse(existsSync(file))
      }
    })
  )

  it.live("replaces the key of a profile, and keeps the profile's host", () =>
    Effect.gen(function* () {
      const { address, env, file, keys } = yield* fresh
      yield* runInProcess(["login", "--base-url", address], env, keys.widget)
      const { out } = yield* runInProcess(["login"], env, keys.server)
      assert.strictEqual(out, `Saved: default  sandbox server  ${address}`)
      assert.notInclude(readFileSync(file, "utf8"), keys.widget)
    })
  )
})

describe("a profile", () => {
  it.live("is selected by name, with a flag or a variable", () =>
    Effect.gen(function* () {
      const { address, env, keys } = yield* fresh
      yield* runInProcess(["login", "--base-url", address], env, keys.widget)
      yield* runInProcess(["login", "--base-url", address, "--profile", "other"], env, keys.server)
      // A widget key may not list events.
      assert.strictEqual((yield* runInProcess(list, env)).how, "failed")
      assert.strictEqual((yield* runInProcess([...list, "--profile", "other"], env)).how, "done")
      assert.strictEqual((yield* runInProcess(list, { ...env, QUOTEWIRE_PROFILE: "other" })).how, "done")
    })
  )

  it.live("is overridden by an explicit key, and is never used for another host", () =>
    Effect.gen(function* () {
      const { address, env, keys } = yield* fresh
      const seen: Array<string> = []
      const other = yield* server(({ headers }, response) => {
        seen.push(headers.authorization ?? "")
        response.writeHead(503).end()
      })
      yield* runInProcess(["login", "--base-url", address], env, keys.server)
      const elsewhere = { ...env, QUOTEWIRE_BASE_URL: other.address }
      const unnamed = yield* runInProcess(list, elsewhere)
      assert.match(unnamed.err, /^Set QUOTEWIRE_API_KEY/)
      const named = yield* runInProcess([...list, "--profile", "default"], elsewhere)
      assert.match(named.err, /^--profile cannot be used with a different --base-url/)
      assert.deepStrictEqual(seen, [])
      const own = unknownKey("sandbox")
      yield* runInProcess(list, { ...elsewhere, QUOTEWIRE_API_KEY: own })
      assert.deepStrictEqual([...new Set(seen)], [`Bearer ${own}`])
      const set = yield* runInProcess([...list, "--profile", "default"], { ...env, QUOTEWIRE_API_KEY: own })
      assert.match(set.err, /rejected the key/)
    })
  )

  it.live("causes a usage error without the profile's name if the profile does not exist", () =>
    Effect.gen(function* () {
      const { env } = yield* fresh
      const { err, how } = yield* runInProcess([...list, "--profile", "Zq7x"], env)
      assert.strictEqual(how, "wrong usage")
      assert.match(err, /^--profile \(or QUOTEWIRE_PROFILE\) must be the name of a profile/)
      assert.notInclude(err, "Zq7x")
    })
  )

  it.live("is removed by quotewire logout", () =>
    Effect.gen(function* () {
      const { address, env, file, keys } = yield* fresh
      yield* runInProcess(["login", "--base-url", address], env, keys.server)
      assert.strictEqual((yield* runInProcess(["logout"], env)).how, "done")
      assert.notInclude(readFileSync(file, "utf8"), keys.server)
      assert.match((yield* runInProcess(list, env)).err, /^Set QUOTEWIRE_API_KEY/)
      assert.strictEqual((yield* runInProcess(["logout"], env)).how, "failed")
    })
  )
})

describe("the profiles file", () => {
  const all = [list, ["login"], ["logout"], ["profiles", "list"], ["quotes", "show", `qt_${"0".repeat(26)}`]]

  it.live("is refused by every command, with instructions, if other users can read the file", () =>
    Effect.gen(function* () {
      const { address, env, file, keys } = yield* fresh
      yield* runInProcess(["login", "--base-url", address], env, keys.server)
      chmodSync(file, 0o640)
      for (const args of all) {
        const { err, how } = yield* runInProcess(args, env, keys.server)
        assert.notStrictEqual(how, "done")
        assert.include(err, `Other users can read ${file}: run chmod 600 on it`)
      }
      // An explicit key needs no profile.
      const set = { ...env, QUOTEWIRE_BASE_URL: address, QUOTEWIRE_API_KEY: keys.server }
      assert.strictEqual((yield* runInProcess(list, set)).how, "done")
    })
  )

  it.live("is refused if its content is invalid, with an error that omits the content", () =>
    Effect.gen(function* () {
      const { env, file, folder, keys } = yield* fresh
      mkdirSync(folder, { mode: 0o700 })
      const profile = { base_url: "http://127.0.0.1:1", api_key: keys.server }
      const contents = [
        keys.server,
        "",
        JSON.stringify({ profiles: "none" }),
        JSON.stringify({ profiles: { "": profile } }),
        JSON.stringify({ profiles: { default: { ...profile, base_url: keys.server } } }),
        JSON.stringify({ profiles: { default: { ...profile, api_key: `${keys.server}0` } } })
      ]
      for (const content of contents) {
        writeFileSync(file, content, { mode: 0o600 })
        for (const args of all) {
          const { err, how, out } = yield* runInProcess([...args, "--verbose"], env, keys.server)
          assert.notStrictEqual(how, "done", content)
          assert.notInclude(`${out}${err}`, keys.server)
          assert.match(err, /profiles/)
        }
      }
    })
  )
})
