import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Cassette } from "@quotewire/core/testing"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { runHere, runInProcess } from "./support/inProcess.ts"
import { run } from "./support/program.ts"
import { server as listening } from "./support/servedHost.ts"

const folder = mkdtempSync(join(tmpdir(), "quotewire-"))
afterAll(() => rmSync(folder, { recursive: true }))

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const plan = pathOf("../../../examples/rate-plan.json")
const module = pathOf("support/trial.carriers.ts")
const cassette = join(folder, "acme.cassette.json")
const secret = "Zq7xSecretZq7x"
const env = { QUOTEWIRE_CONNECTION_API_KEY: secret, QUOTEWIRE_CONNECTION_PRODUCER_CODE: "4711" }

const file = (name: string, value: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(value))
  return path
}

const facts = file("facts.json", {
  renters: {
    dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" },
    applicant: { email: "ada@example.com" }
  }
})

/** A carrier's server. It repeats the e-mail, as some do. */
const server = Effect.acquireRelease(
  Effect.promise(async () => {
    const host = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      const { email, key } = JSON.parse(body)
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ number: `Q-${key}`, premium_cents: 18_900, email }))
    })
    await new Promise<void>((listening) => host.listen(0, "127.0.0.1", listening))
    const address = host.address()
    return { host, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}` }
  }),
  ({ host }) => Effect.promise(() => new Promise((closed) => host.close(closed)))
)

const failing = pathOf("support/failing.carriers.ts")

/** A carrier's server that always fails. */
const broken = Effect.map(
  listening((_, response) => {
    response.writeHead(500, { "content-type": "application/json" }).end('{"error":"it broke"}')
  }),
  ({ address }) => ({ url: address })
)

const acme = ["--carrier", "naic:12345", "--facts", facts]

describe("quotewire carriers test", () => {
  it.live("reports the result of each test case for a rate plan", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runHere(["carriers", "test", plan])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(
        stdout,
        /^naic:00000\n {2}pass +\d+ ms {2}declares itself correctly\n {2}pass +\d+ ms {2}renters: answers an ask/
      )
      assert.match(stdout, /\n(\d+) of \1 cases passed in \d+\.\d s\n$/)
    })
  )

  it.live("fails and names the broken rule, as text or as JSON", () =>
    Effect.gen(function* () {
      const careless = ["carriers", "test", module, "--carrier", "naic:99999"]
      const told = yield* runHere(careless)
      assert.deepStrictEqual([told.code, told.stderr], [1, "quotewire: 3 of 6 cases failed.\n"])
      assert.match(
        told.stdout,
        /^ {2}FAIL +\d+ ms {2}renters: answers an ask.*\n {18}ask returned.*\n {18}- offers\.0\.premium\./m
      )
      const { carriers } = JSON.parse((yield* runHere([...careless, "--json"])).stdout)
      assert.strictEqual(carriers[0].carrier_id, "naic:99999")
      assert.match(carriers[0].cases[1].message, /offers\.0\.premium\.amount_minor/)
    })
  )

  it.live("records a cassette without secrets, and replays the cassette without the carrier", () =>
    Effect.gen(function* () {
      const test = ["carriers", "test", module, ...acme, "--cassette", cassette]
      const url = yield* Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* server
          const recorded = yield* run([...test, "--record"], { ...env, TRIAL_URL: url })
          assert.strictEqual(recorded.code, 0, recorded.stdout + recorded.stderr)
          return url
        })
      )
      const text = readFileSync(cassette, "utf8")
      assert.include(text, '"email": "[redacted]"')
      assert.notMatch(text, /ada@|Zq7x/)
      const played = yield* run(test, { TRIAL_URL: url })
      assert.strictEqual(played.code, 0, played.stdout + played.stderr)
      assert.notInclude(played.stdout, "FAIL")
    })
  )

  it.live("reports the cause if the carrier is down, and keeps an existing cassette", () =>
    Effect.gen(function* () {
      const kept = file("kept.cassette.json", "a good cassette")
      const fresh = join(folder, "fresh.cassette.json")
      for (const name of [kept, fresh]) {
        const args = ["carriers", "test", module, ...acme, "--cassette", name, "--record"]
        const { code, stderr, stdout } = yield* runHere(args, env)
        assert.strictEqual(code, 1)
        assert.match(stderr, /^quotewire: \d of \d cases failed\. No cassette was written\.$/m)
        assert.match(stdout, /^ {2}FAIL +\d+ ms {2}renters: answers an ask.*\n.*127\.0\.0\.1:1 .*ECONNREFUSED/m)
        assert.notMatch(stdout, /idempotency_key|Zq7x/)
      }
      assert.strictEqual(readFileSync(kept, "utf8"), '"a good cassette"')
      assert.isFalse(existsSync(fresh))
    })
  )

  it.live("refuses to record a cassette that could not be played back, and explains why", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      for (const command of [["test"], ["ask", "--line", "renters"]]) {
        const none = join(folder, "fickle.cassette.json")
        const args = ["carriers", ...command, module, "--carrier", "naic:88888", "--cassette", none, "--record"]
        const { code, stderr } = yield* run(args, { TRIAL_URL: url })
        assert.strictEqual(code, 1)
        assert.match(
          stderr,
          /^quotewire: The recording cannot be played back, so no cassette was written\. In the case "renters: /m
        )
        assert.match(
          stderr,
          /The cassette expects a different body, which differs at message_id\. .*add values that change on each run/
        )
        assert.isFalse(existsSync(none))
      }
    })
  )

  it.live("records no cassette if nothing is exchanged with the carrier", () =>
    Effect.gen(function* () {
      const none = join(folder, "none.cassette.json")
      const { code, stderr } = yield* runHere(["carriers", "test", plan, "--cassette", none, "--record"])
      assert.deepStrictEqual(
        [code, stderr],
        [1, "quotewire: Nothing was exchanged with the carrier, so no cassette was written.\n"]
      )
      assert.isFalse(existsSync(none))
    })
  )

  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<string>, number, RegExp]> = [
    [
      "--record without --cassette",
      [plan, "--record"],
      2,
      /^quotewire: --record needs --cassette, the file to write\.\n$/
    ],
    ["a missing file", [join(folder, "none.ts")], 2, /^quotewire: <file> must be a file that exists\.\n$/],
    ["a file without a carrier", [pathOf("support/program.ts")], 2, /must export a carrier/],
    [
      "an unlisted line",
      [pathOf("support/ownLine.carriers.ts")],
      2,
      /lines\.violin: .* list it in the `lines` option\.\n$/
    ],
    [
      "an unknown carrier",
      [module, "--carrier", secret],
      2,
      /--carrier must be one of (?:naic:(?:12345|99999|88888)(?:, |\.\n$)){3}/
    ],
    ["several carriers with a connection", [module], 2, /Choose the carrier with --carrier\.\n$/],
    ["a faulty plan", [file("plan.json", { carrier: secret })], 1, /The rate plan has errors\./],
    [
      "facts that are not an object",
      [plan, "--facts", file("list.json", [secret])],
      1,
      /--facts must contain a JSON object/
    ],
    [
      "an invalid cassette",
      [plan, "--cassette", file("no.json", { [secret]: secret })],
      1,
      /--cassette must be a cassette/
    ]
  ]
  it.live.each(wrong)("explains a usage error or an unusable file in one sentence: %s", ([, args, code, message]) =>
    Effect.gen(function* () {
      const ended = yield* runHere(["carriers", "test", ...args])
      assert.deepStrictEqual([ended.code, ended.stdout], [code, ""])
      assert.match(ended.stderr, message)
      assert.notInclude(ended.stderr, secret)
    })
  )
})

describe("quotewire carriers ask", () => {
  it.live("shows the price and the redacted exchange", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const recorded = join(folder, "ask.cassette.json")
      const ask = ["carriers", "ask", module, ...acme, "--line", "renters", "--cassette", recorded, "--record"]
      const { code, stderr, stdout } = yield* run(ask, { ...env, TRIAL_URL: url })
      assert.strictEqual(code, 0, stderr)
      assert.match(
        stdout,
        /^1 offer in \d+ ms\noffer {2}189\.00 USD {2}for 12 months {2}Q-.*\nPOST 127\.0\.0\.1:\d+\/quotes {2}200 in/
      )
      assert.match(
        stdout,
        /^> application\/json, \d+ bytes\n> \{"key":"[\w-]+","producer":"4711","email":"\[redacted\]"\}\n< application\/json, \d+ bytes\n< \{"number":/m
      )
      assert.notMatch(stdout, /ada@|Zq7x/)
      const text = readFileSync(recorded, "utf8")
      assert.strictEqual(Cassette.parse(JSON.parse(text)).exchanges.length, 1)
      assert.include(text, '"email": "[redacted]"')
      assert.notMatch(text, /ada@|Zq7x/)
    })
  )

  it.live("requires --record with --cassette, and keeps an existing cassette if the carrier is unreachable", () =>
    Effect.gen(function* () {
      for (const one of [["--record"], ["--cassette", join(folder, "none.json")]]) {
        const { err, how } = yield* runInProcess(["carriers", "ask", module, ...one], {})
        assert.deepStrictEqual(
          [how, err],
          ["wrong usage", "quotewire: Use --record and --cassette together: --cassette names the file to write."]
        )
      }
      const kept = file("kept-ask.cassette.json", "a good cassette")
      const args = ["carriers", "ask", module, ...acme, "--cassette", kept, "--record"]
      const lost = yield* runHere(args, env)
      assert.strictEqual(lost.code, 1)
      assert.match(
        lost.stderr,
        /^quotewire: The carrier could not be reached \(TransportError ECONNREFUSED\): carrier_error\. No cassette was written\.\n$/m
      )
      assert.strictEqual(readFileSync(kept, "utf8"), '"a good cassette"')
    })
  )

  it.live("requires --carrier if the file has several carriers", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* runHere(["carriers", "ask", module])
      assert.strictEqual(code, 2)
      assert.match(stderr, /Choose a carrier with --carrier\.\n$/)
      const { stdout } = yield* runHere(["carriers", "ask", "--help"])
      assert.include(stdout, "required if the file has several carriers")
    })
  )

  it.live("names the variables for missing connection values", () =>
    Effect.gen(function* () {
      const { QUOTEWIRE_CONNECTION_PRODUCER_CODE: _, ...some } = env
      const { code, stderr } = yield* runHere(["carriers", "ask", module, ...acme], some)
      assert.deepStrictEqual(
        [code, stderr],
        [
          1,
          "quotewire: The connection lacks producer_code. Set QUOTEWIRE_CONNECTION_PRODUCER_CODE, or pass all values of the connection on standard input.\n"
        ]
      )
    })
  )

  it.live("reports the status of a carrier's error response", () =>
    Effect.gen(function* () {
      const { url } = yield* broken
      const ask = (carrier: string) => run(["carriers", "ask", failing, "--carrier", carrier], { TRIAL_URL: url })
      const { code, stderr, stdout } = yield* ask("naic:77777")
      assert.strictEqual(code, 1)
      assert.match(stdout, /^POST 127\.0\.0\.1:\d+\/quotes {2}500 in \d+ ms$/m)
      assert.match(stderr, /^quotewire: The carrier answered 500 after \d+ ms: carrier_error\.$/m)
      const givenUp = yield* ask("naic:66666")
      assert.match(givenUp.stdout, /^POST 127\.0\.0\.1:\d+\/quotes {2}aborted before an answer arrived$/m)
      assert.match(givenUp.stderr, /^quotewire: The adapter's answer is not valid\.$/m)
    })
  )

  it.live("fails with the cause if the carrier is unreachable or breaks a rule", () =>
    Effect.gen(function* () {
      const lost = yield* runHere(["carriers", "ask", module, ...acme], env)
      assert.strictEqual(lost.code, 1)
      assert.match(
        lost.stdout,
        /^no answer \(carrier_error\) in \d+ ms\nPOST 127\.0\.0\.1:1\/quotes {2}TransportError ECONNREFUSED in/
      )
      const broken = yield* runHere(["carriers", "ask", module, "--carrier", "naic:99999", "--json"])
      assert.strictEqual(broken.code, 1)
      assert.match(JSON.parse(broken.stdout).error, /offers\.0\.premium\.amount_minor/)
    })
  )
})
