import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { generateSealKey } from "@quotewire/core"
import { Effect } from "effect"
import { freshDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { secret } from "./support/connections.config.ts"
import { type Ran, runInProcess } from "./support/inProcess.ts"

const config = fileURLToPath(new URL("support/connections.config.ts", import.meta.url))
const sealKeys = generateSealKey()

/** The values of a connection, as JSON. */
const values = JSON.stringify({ producer_code: "4711", api_key: secret })

/** A database with an organization, and what commands about its connections have printed. */
const world = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(Effect.promise(freshDatabase), ({ drop }) => Effect.promise(drop))
  const env = { QUOTEWIRE_CONFIG: config, QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKeys }
  const { out } = yield* runInProcess(["organizations", "create", "Acme", "--json"], env)
  const organization_id: string = JSON.parse(out).organization_id
  const organization = ["--organization", organization_id]
  const place = [...organization, "--carrier", "naic:12345", "--environment", "live"]
  const said: Array<string> = []
  const connections = (command: string, args: ReadonlyArray<string>, input?: string, more = {}) =>
    Effect.tap(runInProcess(["connections", command, ...args], { ...env, ...more }, input), ({ err, out }) =>
      Effect.sync(() => said.push(out, err))
    )
  return { url, organization_id, organization, place, connections, json: (ran: Ran) => JSON.parse(done(ran)), said }
})

const done = (ran: Ran) => {
  assert.strictEqual(ran.how, "done", ran.err)
  return ran.out
}

/** Characters that a terminal would interpret or hide. */
const hostile = "A\u001b[2J\u0007\u202eB\u{e0041}\u009b"
const shown = "A\\u{1b}[2J\\u{7}\\u{202e}B\\u{e0041}\\u{9b}"

describe("hidden characters in names", () => {
  it.live("are printed as escapes for organizations and connections", () =>
    Effect.gen(function* () {
      const { connections, organization, place, url } = yield* world
      const env = { QUOTEWIRE_DATABASE_URL: url }
      done(yield* runInProcess(["organizations", "create", hostile], env))
      const organizations = done(yield* runInProcess(["organizations", "list"], env))
      const input = JSON.stringify({ producer_code: hostile, api_key: secret })
      const set = done(yield* connections("set", place, input))
      for (const text of [organizations, set, done(yield* connections("list", organization))]) {
        assert.notMatch(text, /[^\P{Cc}\n]|\p{DI}/u)
      }
      assert.include(organizations, `  ${shown}`)
    })
  )
})

describe("quotewire connections", () => {
  it.live("sets, tests and lists a connection", () =>
    Effect.gen(function* () {
      const { connections, json, organization, place } = yield* world
      const { set_at, ...set } = json(yield* connections("set", [...place, "--json"], values))
      assert.deepStrictEqual(set, {
        carrier_id: "naic:12345",
        environment: "live",
        state: "usable",
        values: { producer_code: "4711", api_key: null },
        last_test: null
      })
      assert.match(set_at, /^\d{4}-.*Z$/)
      assert.deepStrictEqual(json(yield* connections("test", [...place, "--json"])), { outcome: "ok", message: null })
      const listed = json(yield* connections("list", [...organization, "--json"]))
      assert.deepStrictEqual([listed.connections.length, listed.connections[0].last_test.outcome], [1, "ok"])
      const line = done(yield* connections("list", organization))
      assert.match(line, /^naic:12345 {2}live {2}usable {2}producer_code="4711" {2}api_key=\(secret\) {2}set .* ok$/m)
      assert.notMatch(line, /naic:12345 {2}live {2}missing/)
      assert.match(line, /^naic:12345 {2}sandbox {2}missing {2}needs producer_code, api_key$/m)
    })
  )

  it.live("stores a connection encrypted, and never prints the secret", () =>
    Effect.gen(function* () {
      const { connections, organization, place, said, url } = yield* world
      yield* connections("set", [...place, "--json"], values)
      const bodies = yield* Effect.promise(() =>
        statements(url, "select * from quotewire.record where kind = 'connection'")
      )
      assert.lengthOf(bodies, 1)
      assert.notMatch(JSON.stringify(bodies), /Zq7x|4711|producer_code/)
      yield* connections("test", [...place, "--json"])
      yield* connections("list", [...organization, "--json"])
      yield* connections("list", organization)
      yield* connections("remove", [...place, "--json"])
      assert.lengthOf(said, 10)
      assert.notInclude(said.join(), secret)
    })
  )

  it.live("removes a connection, and lists the removed fields as missing", () =>
    Effect.gen(function* () {
      const { connections, json, organization, place } = yield* world
      yield* connections("set", place, values)
      assert.deepStrictEqual(json(yield* connections("remove", [...place, "--json"])), {
        carrier_id: "naic:12345",
        environment: "live"
      })
      assert.deepStrictEqual(json(yield* connections("list", [...organization, "--json"])), {
        connections: [],
        missing: ["naic:12345", "naic:99999"].flatMap((carrier_id) =>
          ["sandbox", "live"].map((environment) => ({ carrier_id, environment, fields: ["producer_code", "api_key"] }))
        )
      })
      const none = yield* connections("list", organization)
      assert.strictEqual(none.err, "The organization has no connections.")
      assert.include(done(none), "naic:99999  live  missing  needs producer_code, api_key")
      for (const command of ["test", "remove"]) {
        assert.strictEqual((yield* connections(command, place)).err, "quotewire: No such connection.")
      }
    })
  )

  it.live("reads values from standard input, or only from variables if any variable is set", () =>
    Effect.gen(function* () {
      const { connections, place } = yield* world
      const codeOf = (ran: Ran): unknown => JSON.parse(done(ran)).values.producer_code
      const set = [...place, "--json"]
      const lines = `producer_code=a=b \r\n\napi_key=${secret}\n`
      assert.strictEqual(codeOf(yield* connections("set", set, lines)), "a=b ")
      const variables = { QUOTEWIRE_CONNECTION_PRODUCER_CODE: "4712", QUOTEWIRE_CONNECTION_API_KEY: secret }
      assert.strictEqual(codeOf(yield* connections("set", set, lines, variables)), "4712")
      const { QUOTEWIRE_CONNECTION_API_KEY, ...some } = variables
      assert.strictEqual(
        (yield* connections("set", set, lines, some)).err,
        "quotewire: api_key: This field is required."
      )
    })
  )

  it.live("explains errors in one sentence, and never repeats the input", () =>
    Effect.gen(function* () {
      const { connections, organization, place } = yield* world
      const nobody = ["--organization", `org_${"0".repeat(26)}`]
      const at = (carrier: string) => [...organization, "--environment", "live", "--carrier", carrier]
      const good = `producer_code=1\napi_key=${secret}`
      const known = "Known: naic:12345, naic:99999."
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, string, string | RegExp]> = [
        [place, "", "producer_code: This field is required. api_key: This field is required."],
        [place, `{"producer_code":"1","api_key":"${secret}"`, "Standard input must be JSON or NAME=value lines."],
        [place, secret, "Standard input must be JSON or NAME=value lines, but line 1 is neither."],
        [place, `=${secret}`, "Standard input must be JSON or NAME=value lines, but line 1 is neither."],
        [place, `${good}\napi_key=2`, "Standard input must give each name once: line 3 repeats one."],
        [place, `api_key=${secret.repeat(20_000)}`, "Standard input must have at most 262144 bytes."],
        [place, `${good}\n${secret}=1`, /^The values: Every name .* Known: producer_code, api_key\.$/],
        [at(secret), good, `--carrier: Must be the id of one of this program's carriers. ${known}`],
        [[...place, ...nobody], good, /--organization .* must be set once/],
        [[...place.slice(2), ...nobody], good, "No such organization."],
        [[...place, secret], "", /^Too many arguments/],
        [[...place, `api_key=${secret}`], "", /^Too many arguments/],
        [[...place, `--api-key=${secret}`], "", /^There is no such flag/],
        [place.slice(0, -2), good, /^--environment is required/]
      ]
      for (const [args, input, message] of wrong) {
        const { err, how, out } = yield* connections("set", args, input)
        assert.deepStrictEqual([how, out], [err.startsWith("quotewire: ") ? "failed" : "wrong usage", ""])
        const sentence = err.replace(/^quotewire: /, "")
        if (typeof message === "string") assert.strictEqual(sentence, message)
        else assert.match(sentence, message)
        assert.notInclude(err, secret)
      }
    })
  )

  it.live("fails if a connection does not work, and reports if a connection cannot be tested", () =>
    Effect.gen(function* () {
      const { connections, organization, place } = yield* world
      done(yield* connections("set", place, "producer_code=1\napi_key=hunter22"))
      const { err, how, out } = yield* connections("test", [...place, "--json"])
      assert.strictEqual(how, "failed")
      assert.strictEqual(JSON.parse(out).outcome, "failed")
      assert.match(err, /^quotewire: The connection does not work: /)
      assert.notInclude(out + err, "hunter22")
      const untested = [...organization, "--carrier", "naic:99999", "--environment", "live"]
      done(yield* connections("set", untested, "producer_code=1\napi_key=2"))
      assert.match(done(yield* connections("test", untested)), /cannot be tested/)
    })
  )

  it.live("fails with one sentence if the database's seal keys are wrong or missing", () =>
    Effect.gen(function* () {
      const { connections, organization, place } = yield* world
      done(yield* connections("set", place, `producer_code=1\napi_key=${secret}`))
      const otherKeys = { QUOTEWIRE_SEAL_KEYS: generateSealKey() }
      for (const [command, args] of [
        ["set", place],
        ["test", place],
        ["remove", place],
        ["list", organization]
      ] as const) {
        const wrong = yield* connections(command, args, "", otherKeys)
        assert.match(wrong.err, /^quotewire: --seal-keys \(or QUOTEWIRE_SEAL_KEYS\) must include the key .*\.$/)
        const missing = yield* runInProcess(["connections", command, ...args], {
          QUOTEWIRE_DATABASE_URL: "postgres://quotewire@127.0.0.1:1/none"
        })
        assert.match(missing.err, /^Set QUOTEWIRE_SEAL_KEYS \(or --seal-keys\); create /)
        assert.deepStrictEqual([wrong.how, missing.how], ["failed", "wrong usage"])
      }
    })
  )
})
