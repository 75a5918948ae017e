import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { eventually, until } from "../../../test/support/eventually.ts"
import { emptyDatabase, freshDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { runInProcess } from "./support/inProcess.ts"
import { host, run, start, stopped } from "./support/program.ts"

const sealKey = randomBytes(32).toString("base64")

/** The settings that name a database to the command. */
const database = (make: typeof freshDatabase) =>
  Effect.map(
    Effect.acquireRelease(Effect.promise(make), ({ drop }) => Effect.promise(drop)),
    ({ url }) => ({ url, env: { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKey } })
  )

type Env = Record<string, string>

const printed = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Env) {
  const { code, stdout, stderr } = yield* run([...args, "--json"], env)
  assert.strictEqual(code, 0, stderr)
  return JSON.parse(stdout)
})

/** What a command prints that needs no process of its own. */
const answered = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Env) {
  const { err, how, out } = yield* runInProcess([...args, "--json"], env)
  assert.strictEqual(how, "done", err)
  return JSON.parse(out)
})

/** A new organization, and a server key for its sandbox. */
const organization = Effect.fnUntraced(function* (env: Env, ask: typeof printed = answered) {
  const { organization_id } = yield* ask(["organizations", "create", "Acme"], env)
  const scope = ["--organization", organization_id, "--environment", "sandbox"]
  const issued = yield* ask(["keys", "create", ...scope, "--kind", "server"], env)
  return { organization_id, ...issued }
})

const serving = Effect.fnUntraced(function* (env: Env, ...args: ReadonlyArray<string>) {
  const started = yield* host(["serve", "--port", "0", "--json", ...args], env)
  const base_url: string = JSON.parse(started.output()).base_url
  return { ...started, base_url }
})

const call = (baseUrl: string, key: string, path: string, body?: object) =>
  Effect.promise(async () => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": randomBytes(8).toString("hex")
    }
    const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) }
    const response = await fetch(`${baseUrl}${path}`, init)
    return { status: response.status, retry_after: response.headers.get("retry-after"), body: await response.json() }
  })

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }

const startRequest = (baseUrl: string, key: string, request_key: string) =>
  call(baseUrl, key, "/v1/quote-requests", {
    line: "renters",
    consent_receipt_id: "receipt-0001",
    request_key,
    application
  })

describe("quotewire serve", () => {
  it.live("refuses a database without the schema, but creates the schema with --migrate", () =>
    Effect.gen(function* () {
      const { env } = yield* database(emptyDatabase)
      const refused = yield* run(["serve", "--port", "0"], env)
      assert.strictEqual(refused.code, 1)
      assert.match(refused.stderr, /^quotewire: The database schema .* First run quotewire migrate, .*\n$/)
      assert.strictEqual(refused.stdout, "")
      const { base_url } = yield* serving(env, "--migrate")
      const ready = yield* Effect.promise(() => fetch(`${base_url}/health/ready`))
      assert.strictEqual(ready.status, 200)
    })
  )

  it.live("publishes the OAuth issuer for MCP clients if --oauth is set", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const { organization_id } = yield* answered(["organizations", "create", "Acme"], env)
      const oauth = { issuer: "https://login.example", environment: "live", organization_id, required: true }
      const { base_url } = yield* serving({ ...env, QUOTEWIRE_OAUTH: JSON.stringify(oauth) })
      const metadataUrl = `${base_url}/.well-known/oauth-protected-resource`
      const { authorization_servers, resource } = yield* Effect.promise(async () => (await fetch(metadataUrl)).json())
      assert.deepStrictEqual([resource, authorization_servers], [`${base_url}/v1/mcp`, [oauth.issuer]])
      const refused = yield* Effect.promise(() => fetch(`${base_url}/v1/mcp`, { method: "POST" }))
      assert.include(refused.headers.get("www-authenticate"), metadataUrl)
      const wrong = yield* runInProcess(["serve"], { ...env, QUOTEWIRE_OAUTH: '{"issuer":"secret"}' })
      assert.strictEqual(wrong.how, "wrong usage")
      assert.match(wrong.err, /^--oauth \(or QUOTEWIRE_OAUTH\) must be JSON such as .* oauth\.issuer: Must be/)
      assert.notInclude(wrong.err, "secret")
    })
  )

  it.live.each(["serve", "work"])(
    "refuses seal keys that do not match the database, and names the setting (quotewire %s)",
    (command) =>
      Effect.gen(function* () {
        const { env } = yield* database(freshDatabase)
        const first = yield* serving(env)
        yield* Effect.promise(() => stopped(first.child))
        const args = [command, "--base-url", "http://127.0.0.1", ...(command === "serve" ? ["--port", "0"] : [])]
        const newKey = randomBytes(32).toString("base64")
        const refused = yield* runInProcess(args, { ...env, QUOTEWIRE_SEAL_KEYS: newKey })
        assert.deepStrictEqual([refused.how, refused.out], ["failed", ""])
        assert.match(refused.err, /^quotewire: --seal-keys \(or QUOTEWIRE_SEAL_KEYS\) must include the key .*\.$/)
        const missing = yield* runInProcess(args, { ...env, QUOTEWIRE_SEAL_KEYS: "" })
        assert.strictEqual(missing.how, "wrong usage")
        assert.match(
          missing.err,
          /^Set QUOTEWIRE_SEAL_KEYS \(or --seal-keys\); create a seal key with: openssl rand -base64 32\. /
        )
        yield* serving({ ...env, QUOTEWIRE_SEAL_KEYS: `${newKey},${env.QUOTEWIRE_SEAL_KEYS}` })
      })
  )

  it.live("accepts a new organization's key immediately on every host", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const one = yield* serving(env)
      const other = yield* serving(env, "--no-worker")
      const { organization_id, key } = yield* organization(env, printed)
      const started = yield* startRequest(one.base_url, key, "first")
      assert.strictEqual(started.status, 202)
      const path = `/v1/quote-requests/${started.body.id}`
      const waiting = yield* Effect.forkChild(
        call(other.base_url, key, `${path}?since_version=${started.body.version}&wait_seconds=20`)
      )
      // Any host can advance the timers of a sandbox.
      const moved = yield* call(one.base_url, key, "/v1/sandbox/time", { seconds: 3_600 })
      assert.strictEqual(moved.status, 200)
      assert.strictEqual(moved.body.workspace.partner_id, organization_id)
      const woken = yield* Fiber.join(waiting)
      assert.isAbove(woken.body.quote_request.version, started.body.version)
      const read = yield* call(other.base_url, key, path)
      assert.strictEqual(read.body.quote_request.status, "completed")
      assert.isAbove(read.body.quotes.length, 0)
      const repeated = yield* startRequest(other.base_url, key, "first")
      assert.strictEqual(repeated.body.id, started.body.id)
    })
  )

  it.live("keeps a quote request across a restart, and stores no readable personal facts", () =>
    Effect.gen(function* () {
      const { env, url } = yield* database(freshDatabase)
      const { key } = yield* organization(env)
      const first = yield* serving(env)
      const started = yield* startRequest(first.base_url, key, "kept")
      yield* Effect.promise(() => stopped(first.child))
      const second = yield* serving(env)
      yield* call(second.base_url, key, "/v1/sandbox/time", { seconds: 3_600 })
      const read = yield* call(second.base_url, key, `/v1/quote-requests/${started.body.id}`)
      assert.strictEqual(read.body.quote_request.status, "completed")
      const bodies = yield* Effect.promise(() => statements(url, "select body from quotewire.record"))
      assert.isAbove(bodies.length, 3)
      for (const secret of ["10001", "receipt-0001", key]) assert.notInclude(JSON.stringify(bodies), secret)
    })
  )

  it.live.each([
    {
      url: "postgres://nobody:secret@127.0.0.1:1/none",
      fails: "failed",
      says: /cannot be reached at 127\.0\.0\.1:1/
    },
    {
      url: "mysql://user:secret@127.0.0.1/none",
      fails: "wrong usage",
      says: /--database-url .* must be an address such as/
    }
  ])("reports in one sentence that it cannot use $url, and hides the password", ({ fails, says, url }) =>
    Effect.gen(function* () {
      const env = { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKey }
      const { err, how, out } = yield* runInProcess(["serve"], env)
      assert.deepStrictEqual([how, out], [fails, ""])
      assert.match(err, says)
      assert.strictEqual(err.split("\n").length, 1, err)
      assert.notInclude(err, "secret")
    })
  )

  it.live("does not start if a seal key is invalid or guessable, and never prints keys", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const short = Buffer.from("too short").toString("base64")
      const wrong = yield* runInProcess(["serve"], { ...env, QUOTEWIRE_SEAL_KEYS: `${sealKey},${short}` })
      assert.strictEqual(wrong.how, "wrong usage")
      assert.match(wrong.err, /^--seal-keys \(or QUOTEWIRE_SEAL_KEYS\) must be keys of 32 bytes in base64/)
      assert.notInclude(wrong.err, short)
      assert.notInclude(wrong.err, sealKey)
      const weak = Buffer.alloc(32, "pattern ").toString("base64")
      const guessed = yield* runInProcess(["serve"], { ...env, QUOTEWIRE_SEAL_KEYS: `${sealKey},${weak}` })
      assert.strictEqual(guessed.how, "wrong usage")
      assert.match(guessed.err, /^--seal-keys \(or QUOTEWIRE_SEAL_KEYS\) must be random, .*openssl rand -base64 32/)
      assert.notInclude(guessed.err, weak)
    })
  )
})

describe("quotewire keys", () => {
  it.live("lists keys without their secrets, and revokes a key that a running host uses", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const { organization_id, key_id, key } = yield* organization(env)
      const { base_url } = yield* serving(env)
      assert.strictEqual((yield* call(base_url, key, "/v1/sandbox")).status, 200)
      const listed = yield* run(["keys", "list", "--organization", organization_id, "--json"], env)
      assert.notInclude(listed.stdout, key)
      const [first] = JSON.parse(listed.stdout).keys
      assert.deepInclude(first, { key_id, environment: "sandbox", kind: "server", revoked_at: null })
      const revoked = yield* printed(["keys", "revoke", key_id], env)
      assert.isNotNull(revoked.revoked_at)
      const refused = yield* eventually(
        Effect.filterOrFail(call(base_url, key, "/v1/sandbox"), ({ status }) => status !== 200)
      )
      assert.strictEqual(refused.status, 401)
    })
  )

  it.live("reports an unknown organization or key in one sentence", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const nobody = `org_${"0".repeat(26)}`
      const none = yield* runInProcess(["keys", "list", "--organization", nobody], env)
      assert.deepStrictEqual([none.how, none.err], ["failed", "quotewire: No such organization."])
      const unknown = yield* runInProcess(["keys", "revoke", `key_${"0".repeat(26)}`], env)
      assert.deepStrictEqual([unknown.how, unknown.err], ["failed", "quotewire: No such key."])
      const keyless = yield* runInProcess(["serve", "--port", "0", "--keyless-organization", nobody], env)
      assert.strictEqual(keyless.how, "failed")
      assert.include(keyless.err, "--keyless-organization")
    })
  )
})

describe("a live key without a live carrier", () => {
  it.live("causes a warning when the key is created and when a host starts", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const { organization_id } = yield* organization(env)
      const warningsOf = Effect.fnUntraced(function* () {
        const { base_url, child, ended } = yield* serving(env)
        const health = yield* Effect.promise(async () => (await fetch(`${base_url}/health/ready`)).json())
        assert.deepStrictEqual(health, { status: "ready", environments: ["sandbox"] })
        yield* Effect.promise(() => stopped(child))
        const { stderr } = yield* Effect.promise(() => ended)
        return stderr.split("\n").filter((line) => line.includes("no live carriers")).length
      })
      assert.strictEqual(yield* warningsOf(), 0)
      const scope = ["--organization", organization_id, "--kind", "server", "--json"]
      const sandbox = yield* run(["keys", "create", "--environment", "sandbox", ...scope], env)
      assert.deepStrictEqual([Object.keys(JSON.parse(sandbox.stdout)), sandbox.stderr], [["key_id", "key"], ""])
      const made = yield* run(["keys", "create", "--environment", "live", ...scope], env)
      const { key, warnings } = JSON.parse(made.stdout)
      assert.match(warnings.join(), /no live carriers/)
      assert.strictEqual(made.stderr, `quotewire: ${warnings.join()}\n`)
      assert.notInclude(made.stderr, key)
      assert.strictEqual(yield* warningsOf(), 1)
    })
  )
})

describe("quotewire work", () => {
  it.live("runs the jobs of a host that was started with --no-worker", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const { key } = yield* organization(env)
      const { base_url } = yield* serving(env, "--no-worker")
      const { body } = yield* startRequest(base_url, key, "worked")
      yield* host(["work", "--json", "--base-url", base_url], env)
      // In real time, because sandbox carriers take some seconds.
      const read = yield* call(base_url, key, `/v1/quote-requests/${body.id}?since_version=${body.version}`)
      assert.isAbove(read.body.quote_request.version, body.version)
    })
  )

  it.live("exits with code 0 on SIGTERM", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const started = start(["work", "--json", "--base-url", "https://quotes.example.com"], env)
      yield* until(() => started.output().includes("\n"))
      started.child.kill("SIGTERM")
      assert.strictEqual((yield* Effect.promise(() => started.ended)).code, 0)
    })
  )
})

describe("quotewire organizations", () => {
  it.live("refuses to create an organization without a name", () =>
    Effect.gen(function* () {
      const { env } = yield* database(freshDatabase)
      const { err, how } = yield* runInProcess(["organizations", "create", " "], env)
      assert.strictEqual(how, "wrong usage")
      assert.include(err, "<name> must not be empty")
      assert.deepStrictEqual(yield* answered(["organizations", "list"], env), { organizations: [] })
    })
  )
})

describe("quotewire migrate", () => {
  it.live("shows pending migrations, and tests the migrations in a dry run that changes nothing", () =>
    Effect.gen(function* () {
      const { env } = yield* database(emptyDatabase)
      const said = (...flags: ReadonlyArray<string>) =>
        Effect.map(runInProcess(["migrate", ...flags], env), ({ how, out }) => [how, out])
      const pending = yield* answered(["migrate", "--status"], env)
      assert.deepStrictEqual([pending.found, pending.excludes_older], [0, false])
      assert.deepStrictEqual(yield* said("--status"), ["done", "At migration 0 of 1. Pending: begin."])
      assert.deepStrictEqual(yield* answered(["migrate", "--dry-run"], env), {
        migrations: pending.pending,
        dry_run: true
      })
      assert.deepStrictEqual(yield* said("--dry-run"), ["done", "Would run begin."])
      assert.deepStrictEqual(yield* said(), ["done", "Ran begin."])
      assert.deepStrictEqual(yield* said("--status"), ["done", "Up to date, at migration 1."])
      assert.deepStrictEqual(yield* said("--dry-run"), ["done", "The schema is up to date."])
      const both = yield* runInProcess(["migrate", "--status", "--dry-run"], env)
      assert.strictEqual(both.how, "wrong usage")
      assert.match(both.err, /^quotewire: Use either --status or --dry-run, not both\./)
    })
  )

  it.live("runs each migration once, even if many processes migrate concurrently", () =>
    Effect.gen(function* () {
      const { env } = yield* database(emptyDatabase)
      const ran = yield* Effect.all(
        Array.from({ length: 3 }, () => printed(["migrate"], env)),
        { concurrency: "unbounded" }
      )
      const lengths = ran.map(({ migrations }) => migrations.length).toSorted((a, b) => a - b)
      assert.deepStrictEqual(lengths.slice(0, 2), [0, 0])
      assert.isAbove(lengths[2] ?? 0, 0)
    })
  )
})
