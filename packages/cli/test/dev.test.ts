import { once } from "node:events"
import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import manifest from "../package.json" with { type: "json" }
import { version } from "../src/version.ts"
import { temporaryFolder } from "./support/folder.ts"
import { runInProcess } from "./support/inProcess.ts"
import { host, launch, program, run } from "./support/program.ts"

/** Sends a report without the second half of its body. Resolves once the host has read the head. */
const halfSent = async (baseUrl: string, key: string, body: string) => {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  const head = [
    "POST /v1/feedback HTTP/1.1",
    `host: ${hostname}`,
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "idempotency-key: half",
    "expect: 100-continue",
    "connection: close"
  ].join("\r\n")
  socket.write(`${head}\r\n\r\n`)
  // The host sends `100 Continue` once it has read the head.
  await once(socket, "data")
  socket.write(body.slice(0, body.length / 2))
  return { sendRest: () => socket.write(body.slice(body.length / 2)), answer: text(socket).catch(() => "") }
}

describe("quotewire dev", () => {
  it.live("prints one line of JSON when ready, and nothing else on standard output", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--port", "0", "--json"])
      const ready = JSON.parse(started.output())
      assert.deepStrictEqual(Object.keys(ready), [
        "base_url",
        "organization_id",
        "keys",
        "operator_token",
        "console_url"
      ])
      assert.deepStrictEqual(Object.keys(ready.keys), ["server", "widget", "platform"])
      const response = yield* Effect.promise(() =>
        fetch(`${ready.base_url}/v1/sandbox`, { headers: { authorization: `Bearer ${ready.keys.server}` } })
      )
      assert.strictEqual(response.status, 200)
      const organizations = yield* Effect.promise(() =>
        fetch(`${ready.base_url}/operator/v1/organizations`, {
          headers: { authorization: `Bearer ${ready.operator_token}` }
        }).then((answer) => answer.json())
      )
      assert.strictEqual(organizations.organizations[0].id, ready.organization_id)
      const sandbox = yield* Effect.promise(() => response.json())
      assert.strictEqual(sandbox.partner_id, ready.organization_id)
      assert.strictEqual(started.output().split("\n").length, 2)
    })
  )

  it.live("redirects browsers to the console, and prints a link that works for one sign-in", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--port", "0", "--json"])
      const { base_url, console_url, keys } = JSON.parse(started.output())
      const home = yield* Effect.promise(() =>
        fetch(base_url, { headers: { accept: "text/html" }, redirect: "manual" })
      )
      assert.deepStrictEqual([home.status, home.headers.get("location")], [302, "/console"])
      const [page = "", code = ""] = console_url.split("#link=")
      assert.strictEqual(page, `${base_url}/console`)
      const signIn = () =>
        fetch(`${page}/session`, {
          method: "POST",
          headers: { "sec-fetch-site": "same-origin", "content-type": "application/json" },
          body: JSON.stringify({ link: code })
        })
      const first = yield* Effect.promise(signIn)
      assert.deepStrictEqual(yield* Effect.promise(() => first.json()), { key: keys.server })
      assert.strictEqual((yield* Effect.promise(signIn)).status, 404)
    })
  )

  it.live("reads each setting from a flag or the environment, and prefers the flag", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--json", "--base-url", "https://Quotes.example.com/"], {
        QUOTEWIRE_PORT: "0",
        QUOTEWIRE_BASE_URL: "https://other.example.com"
      })
      assert.strictEqual(JSON.parse(started.output()).base_url, "https://quotes.example.com")
    })
  )

  it.live("exits with code 0 on SIGTERM, after responding to a pending long poll", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--port", "0", "--json"])
      const { base_url, keys } = JSON.parse(started.output())
      const headers = { authorization: `Bearer ${keys.server}`, "content-type": "application/json" }
      const request = yield* Effect.promise(async () => {
        const response = await fetch(`${base_url}/v1/quote-requests`, {
          method: "POST",
          headers,
          body: JSON.stringify({
            line: "renters",
            scenario: "waits_in_queue",
            consent_receipt_id: "receipt-0001",
            request_key: "waits",
            application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
          })
        })
        return response.json()
      })
      const waiting = fetch(`${base_url}/v1/quote-requests/${request.id}?wait_seconds=20`, { headers })
      // Once a later call has returned, the waiting read has reached the host.
      yield* Effect.promise(() => fetch(`${base_url}/v1/sandbox`, { headers }))
      started.child.kill("SIGTERM")
      assert.strictEqual((yield* Effect.promise(() => waiting)).status, 200)
      assert.strictEqual((yield* Effect.promise(() => started.ended)).code, 0)
    })
  )

  it.live("returns 410 for the link of an expired quote", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--port", "0", "--json"])
      const { base_url, keys } = JSON.parse(started.output())
      const headers = { authorization: `Bearer ${keys.server}`, "content-type": "application/json" }
      const ask = (path: string, body?: object, key = path) =>
        Effect.promise(async () => {
          const post = { method: "POST", headers: { ...headers, "idempotency-key": key }, body: JSON.stringify(body) }
          const response = await fetch(`${base_url}${path}`, body === undefined ? { headers } : post)
          return response.json()
        })
      const { id } = yield* ask("/v1/quote-requests", {
        line: "renters",
        consent_receipt_id: "receipt-0001",
        request_key: "expires",
        application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
      })
      yield* ask("/v1/sandbox/time", { seconds: 60 }, "a-minute")
      const { quotes } = yield* ask(`/v1/quote-requests/${id}`)
      yield* ask("/v1/sandbox/time", { seconds: 31 * 86_400 }, "a-month")
      const { status, status_details } = yield* ask(`/v1/quotes/${quotes[0].id}`)
      assert.deepStrictEqual([status, status_details.reason], ["inactive", "expired"])
      const link = yield* Effect.promise(() => fetch(quotes[0].next_actions[0].url))
      assert.strictEqual(link.status, 410)
    })
  )

  it.live("answers half-sent requests after SIGTERM, and exits even if a request never completes", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--port", "0", "--json"])
      const { base_url, keys } = JSON.parse(started.output())
      const begin = () => halfSent(base_url, keys.server, JSON.stringify({ kind: "bug", summary: "It is half sent" }))
      const [late, never] = yield* Effect.promise(() => Promise.all([begin(), begin()]))
      started.child.kill("SIGTERM")
      late.sendRest()
      // The whole body has arrived, so it is checked: two fields are missing.
      assert.match(yield* Effect.promise(() => late.answer), /^HTTP\/1\.1 422 /)
      assert.match(yield* Effect.promise(() => never.answer), /^HTTP\/1\.1 503 .*\r\nretry-after: \d/is)
      assert.strictEqual((yield* Effect.promise(() => started.ended)).code, 0)
    })
  )

  it.live("applies rate limits to the client address that a trusted proxy reports", () =>
    Effect.gen(function* () {
      const limits = JSON.stringify({ failed_authentication: { per_minute: 1 } })
      const started = yield* host(["dev", "--port", "0", "--json", "--trust-proxy", "1"], { QUOTEWIRE_LIMITS: limits })
      const { base_url } = JSON.parse(started.output())
      const statusFor = (client: string) =>
        Effect.promise(async () => {
          const headers = { authorization: "Bearer wrong", "x-forwarded-for": `198.51.100.1, ${client}` }
          const response = await fetch(`${base_url}/v1/sandbox`, { headers })
          return response.status
        })
      // Both clients call within the same minute. If a new minute begins between two calls, the next two share one.
      const statuses = yield* Effect.forEach(["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"], statusFor)
      assert.include(statuses.slice(0, 3), 429)
      assert.deepStrictEqual([statuses[0], statuses[3]], [401, 401])
    })
  )

  it.live("reports a port in use in one sentence, and exits with code 1", () =>
    Effect.gen(function* () {
      const first = yield* host(["dev", "--port", "0", "--json"])
      const { port } = new URL(JSON.parse(first.output()).base_url)
      const second = yield* run(["dev", "--port", port])
      assert.strictEqual(second.code, 1)
      assert.match(second.stderr, new RegExp(`^quotewire: .*${port}.*choose another port with --port .*\\n$`))
      assert.strictEqual(second.stdout, "")
    })
  )
})

describe("quotewire", () => {
  it.live.each([
    { args: ["dev", "--port", "70000"], names: "--port" },
    { args: ["dev", "--port", "many"], names: "port" },
    { args: ["dev", "--base-url", "ftp://example.com"], names: "--base-url" },
    { args: ["dev", "--base-url", "https://user:secret@example.com"], names: "--base-url" },
    { args: ["dev", "--base-url", "https://example.com?a=b"], names: "--base-url" },
    { args: ["dev", "--base-url", "javascript:alert(1)"], names: "--base-url" },
    { args: ["dev", "--base-url", "http://x/'\"><script>"], names: "--base-url" },
    { args: ["dev", "--base-url", "http://example.com\r\nsecret: a"], names: "--base-url" },
    { args: ["dev", "--otlp-url", "https://user:secret@example.com"], names: "--otlp-url" },
    { args: ["dev", "--cors-origins", "https://example.com/shop"], names: "--cors-origins" },
    { args: ["dev", "--mcp-origins", "https://example.com,secret"], names: "--mcp-origins" },
    { args: ["dev", "--limits", '{"keys":{"live":{"start":{"per_minute":0}}}}'], names: "keys.live.start.per_minute" },
    { args: ["dev", "--trust-proxy", "secret"], names: "--trust-proxy" },
    { args: ["dev", "--proxy-header", "secret"], names: "--proxy-header" },
    { args: ["dev", "--prot", "1"], names: "no such flag; the closest is --port" },
    { args: ["serf"], names: "no such command" }
  ])("refuses $args with a one-sentence error", ({ args, names }) =>
    Effect.gen(function* () {
      const { err, how, out } = yield* runInProcess(args, {})
      assert.deepStrictEqual([how, out], ["wrong usage", ""])
      assert.strictEqual(err.trim().split("\n").length, 1, err)
      assert.notInclude(err, "..")
      assert.include(err, names)
      assert.notInclude(err, "secret")
    })
  )

  it.live("reports an outdated Node in one sentence", () =>
    Effect.gen(function* () {
      const source = yield* Effect.promise(() => readFile(program, "utf8"))
      const old = source.replaceAll("process.versions.node", '"20.20.2"')
      const { code, stderr } = yield* Effect.promise(
        () => launch(["--input-type=module", "--eval", old.replace(/^#!.*/, "")]).ended
      )
      assert.strictEqual(code, 1)
      assert.strictEqual(stderr, "quotewire: Needs Node 22.19 or newer; this is 20.20.2.\n")
    })
  )

  it.live("names the required Effect version in one sentence if another version is installed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const packages = join(folder, "node_modules")
      const command = join(packages, "@quotewire", "cli")
      yield* Effect.promise(async () => {
        for (const part of ["bin", "dist", "package.json"]) {
          await cp(join(dirname(program), "..", part), join(command, part), { recursive: true })
        }
        for (const [name, installed] of [["@quotewire/core", version] as const, ["effect", "4.0.6"] as const]) {
          await mkdir(join(packages, name), { recursive: true })
          await writeFile(
            join(packages, name, "package.json"),
            JSON.stringify({ name, version: installed, main: "a.js" })
          )
          await writeFile(join(packages, name, "a.js"), "")
        }
      })
      const ended = yield* Effect.promise(() => launch([join(command, "bin", "quotewire.js"), "dev"]).ended)
      const { effect } = manifest.peerDependencies
      const sentence = `quotewire: Needs effect ${effect}, but found 4.0.6: run npm install effect@${effect}.\n`
      assert.deepStrictEqual(ended, { code: 1, stdout: "", stderr: sentence })
    }).pipe(Effect.scoped)
  )

  it.live("can turn off the request log and feedback with a flag or a variable", () =>
    Effect.gen(function* () {
      const started = yield* host(["dev", "--port", "0", "--json", "--no-request-log"], { QUOTEWIRE_FEEDBACK: "false" })
      const { base_url, keys } = JSON.parse(started.output())
      for (const path of ["/v1/requests", "/v1/feedback/fb_x", "/v1/sandbox"]) {
        const headers = { authorization: `Bearer ${keys.server}` }
        const { status } = yield* Effect.promise(() => fetch(`${base_url}${path}`, { headers }))
        assert.strictEqual(status, path === "/v1/sandbox" ? 200 : 404)
      }
    })
  )

  it.live("serves agents at /v1/mcp, with or without a trailing slash", () =>
    Effect.gen(function* () {
      const { base_url } = JSON.parse((yield* host(["dev", "--port", "0", "--json"])).output())
      for (const path of ["/v1/mcp", "/v1/mcp/"]) {
        const answer = yield* Effect.promise(async () => {
          const response = await fetch(`${base_url}${path}`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
          })
          return response.json()
        })
        assert.deepStrictEqual(answer, { jsonrpc: "2.0", id: 1, result: {} })
        const { status } = yield* Effect.promise(() => fetch(`${base_url}${path}`))
        assert.strictEqual(status, 405)
      }
    })
  )

  it.live("exits with code 2 and a one-sentence error for an invalid environment variable", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["dev"], { QUOTEWIRE_PORT: "many" })
      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.strictEqual(stderr.trim().split("\n").length, 1, stderr)
      assert.include(stderr, "QUOTEWIRE_PORT")
    })
  )

  it.live.each([
    { args: ["--help"], names: /^ {2}dev +Serve a sandbox, in memory or in a folder$/m },
    { args: ["dev", "--help"], names: /^ {2}--port .*8787 by default.* \[QUOTEWIRE_PORT\]$/m }
  ])("prints the help text for $args", ({ args, names }) =>
    Effect.gen(function* () {
      const { err, how, out } = yield* runInProcess(args, {})
      assert.deepStrictEqual([how, err], ["done", ""])
      assert.match(out, names)
    })
  )

  it.live.each([{ args: [] }, { args: ["keys"] }])(
    "prints the help text and exits with code 2 if no command is given: $args",
    ({ args }) =>
      Effect.gen(function* () {
        const { code, stdout } = yield* run(args)
        assert.strictEqual(code, 2)
        assert.include(stdout, args.length === 0 ? "Operate:" : "SUBCOMMANDS")
      })
  )

  it.live("prints the package's version", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(["--version"])
      assert.deepStrictEqual([code, stdout], [0, `quotewire v${version}\n`])
      assert.strictEqual(version, manifest.version)
    })
  )
})
