import { writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { config as own } from "../../../../examples/line.ts"
import { temporaryFolder } from "../support/folder.ts"
import { runInProcess, startInProcess } from "../support/inProcess.ts"
import { host, hostWith, receiver, server, unknownKey } from "../support/servedHost.ts"

describe("quotewire trigger", () => {
  it.live("plays a scenario with an example application, and advances the clock", () =>
    Effect.gen(function* () {
      const { client, env } = yield* host
      const played = yield* runInProcess(["trigger", "price_update", "--line", "renters", "--advance", "1h"], env)
      assert.deepStrictEqual([played.how, played.err], ["done", ""])
      const [request = "", first = ""] = played.out.split("\n")
      assert.match(request, /^qreq_\w+ {2}renters: completed \(quotes_ready\)\. All carriers answered\.$/)
      assert.match(
        first,
        /^ {2}qt_\w+ {2}Lanternway Renters \(sandbox\) {2}\$14\.46 a month {2}\$173\.51 for 12 months {2}valid until \d/
      )
      const { events } = yield* Effect.promise(() => client.list_events({ limit: 100 }))
      assert.include(
        events.map(({ type }) => type),
        "quote.updated"
      )
    })
  )

  it.live("reports the progress of a long clock advance", () =>
    Effect.gen(function* () {
      const { address, env } = yield* host
      const looks = yield* Queue.unbounded<string>()
      const { address: between } = yield* server(async (request, response) => {
        const { headers, method = "GET", url = "" } = request
        let body = ""
        for await (const chunk of request) body += chunk
        // The advance ends only after the command has read its progress.
        if (method === "GET" && url.includes("/quote-requests/"))
          response.on("finish", () => Queue.offerUnsafe(looks, url))
        if (url.endsWith("/sandbox/time")) await Effect.runPromise(Queue.take(looks))
        const named = ["authorization", "service-version", "idempotency-key", "content-type"].map(
          (name) => [name, String(headers[name] ?? "")] as const
        )
        const sent = Object.fromEntries(named.filter(([, value]) => value !== ""))
        const answer = await fetch(`${address}${url}`, { method, headers: sent, ...(body !== "" && { body }) })
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
      })
      const args = ["trigger", "quotes_ready", "--line", "renters", "--advance", "1h"]
      const played = yield* runInProcess(args, { ...env, QUOTEWIRE_BASE_URL: between })
      assert.strictEqual(played.how, "done", played.err)
      assert.match(played.err, /^The clock is still advancing: 3,600 seconds are left, at 0 per second so far\./)
      assert.include(played.out, "completed (quotes_ready)")
    })
  )

  it.live("starts a new quote request on each run, and accepts custom facts", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const file = `${yield* temporaryFolder}/facts.json`
      const dwelling = { address: { state: "CA", zip: "94110" }, type: "apartment" }
      writeFileSync(file, JSON.stringify({ renters: { dwelling } }))
      const args = ["trigger", "quotes_ready", "--line", "renters", "--json", "--advance", "1h"]
      const [one, other] = [yield* runInProcess(args, env), yield* runInProcess([...args, "--facts", file], env)]
      const answers = [one, other].map(({ out }) => JSON.parse(out))
      assert.deepStrictEqual(
        answers.map(({ quote_request: { line, scenario, status } }) => [line, scenario, status]),
        [
          ["renters", "quotes_ready", "completed"],
          ["renters", "quotes_ready", "completed"]
        ]
      )
      assert.notStrictEqual(answers[0].quote_request.id, answers[1].quote_request.id)
      // Different facts give a different price.
      const prices = answers.map(({ quotes }) => quotes[0].price.premium.amount_minor)
      assert.notStrictEqual(prices[0], prices[1])
    })
  )

  it.live("lists the host's scenarios", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const { out } = yield* runInProcess(["trigger", "--list"], env)
      assert.match(out, /^Quotes\n {2}quotes_ready +Every carrier makes an offer.* \(personal_auto, renters, pet\)$/m)
      const { scenarios } = JSON.parse((yield* runInProcess(["trigger", "--list", "--json"], env)).out)
      assert.strictEqual(out.match(/^ {2}\S/gm)?.length, scenarios.length)
      assert.notInclude(out, "Other")
      assert.match(out, /^Refused starts\n {2}needs_information /m)
      const unknown = yield* runInProcess(["trigger", "--list", "--line", "rentes"], env)
      assert.include(unknown.err, "None of these lines plays a scenario; the closest is renters.")
    })
  )

  it.live("lists a custom line's scenarios, and plays a scenario with the configuration's example", () =>
    Effect.gen(function* () {
      const { env } = yield* hostWith(own)
      const folder = yield* temporaryFolder
      const example = new URL("../../../../examples/line.ts", import.meta.url)
      writeFileSync(`${folder}/own.config.mjs`, `export { config as default } from ${JSON.stringify(example.href)}`)
      const { out } = yield* runInProcess(["trigger", "--list", "--line", "bicycle"], env)
      assert.match(out, /^ {2}waits_in_queue .* \(.*bicycle\)$/m)
      assert.match(out, /^ *price_update .*\(.*bicycle\)$/m)
      assert.notMatch(out, /^ *some_carriers_silent/m)
      const args = ["trigger", "waits_in_queue", "--line", "bicycle"]
      const without = yield* runInProcess(args, env)
      assert.strictEqual(without.how, "wrong usage")
      assert.match(without.err, /There is no example for bicycle: .*--config\.$/)
      const started = yield* runInProcess([...args, "--config", `${folder}/own.config.mjs`, "--json"], env)
      assert.strictEqual(started.how, "done", started.err)
      assert.strictEqual(JSON.parse(started.out).quote_request.line, "bicycle")
      const raised = ["trigger", "price_update", "--line", "bicycle", "--advance", "1h", "--json"]
      const played = yield* runInProcess([...raised, "--config", `${folder}/own.config.mjs`], env)
      assert.strictEqual(played.how, "done", played.err)
      assert.deepStrictEqual(
        JSON.parse(played.out).quotes.map(({ version }: { readonly version: number }) => version),
        [2]
      )
    })
  )

  it.live("shows the refusal if a scenario refuses the first call", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const away = yield* runInProcess(["trigger", "service_unavailable"], env)
      assert.strictEqual(away.how, "failed")
      assert.match(away.err, /^quotewire: The host refused the call \(service_unavailable\): /)
      const missing = yield* runInProcess(["trigger", "needs_information", "--line", "renters"], env)
      assert.match(missing.err, / application\.dwelling\.address\.state: This fact is required\./)
    })
  )

  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<string>, string]> = [
    ["a misspelled scenario", ["slow_quote"], "There is no such scenario; the closest is slow_quotes."],
    ["an unknown scenario", ["something"], "There is no such scenario. See quotewire trigger --list."],
    [
      "a misspelled line",
      ["slow_quotes", "--line", "rentes"],
      "None of these lines plays this scenario; the closest is renters."
    ],
    ["a missing scenario", [], "Name a scenario, or print all of them with --list."],
    ["a time without a unit", ["slow_quotes", "--advance", "60"], "--advance must be a time such as 90s, 10m, 1h or 2d"]
  ]
  it.live.each(wrong)("explains a usage error in one sentence: %s", ([, args, message]) =>
    Effect.gen(function* () {
      const { env } = yield* host
      const ended = yield* runInProcess(["trigger", ...args], env)
      assert.deepStrictEqual([ended.how, ended.out], ["wrong usage", ""])
      assert.include(ended.err, message)
    })
  )

  it.live("refuses a live key before it makes any call", () =>
    Effect.gen(function* () {
      const env = { QUOTEWIRE_API_KEY: unknownKey("live"), QUOTEWIRE_BASE_URL: "http://127.0.0.1:1" }
      const ended = yield* runInProcess(["trigger", "quotes_ready"], env)
      assert.deepStrictEqual(ended, {
        how: "wrong usage",
        out: "",
        err: "quotewire: trigger plays scenarios, so it needs a sandbox server key, sandbox_server_…."
      })
    })
  )
})

describe("quotewire events", () => {
  it.live("lists events, one per line, and prints new events as they arrive", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      const { id: first } = yield* startOne
      const { next } = yield* startInProcess(["events", "tail", "--json", "--since", "start"], env)
      assert.strictEqual(JSON.parse(yield* next).resource.id, first)
      const { id: second } = yield* startOne
      assert.strictEqual(JSON.parse(yield* next).resource.id, second)
      const { out } = yield* runInProcess(["events", "list"], env)
      assert.deepStrictEqual(
        out.split("\n").map((line) => /(qreq_\w+) version 1$/.exec(line)?.[1]),
        [first, second]
      )
    })
  )

  it.live("lists events after a cursor, and refuses an invalid cursor", () =>
    Effect.gen(function* () {
      const { client, env, startOne } = yield* host
      yield* startOne
      const wrong = yield* runInProcess(["events", "list", "--since", "yesterday"], env)
      assert.deepStrictEqual(
        [wrong.how, wrong.err],
        ["failed", "quotewire: --since must be now, start, or a cursor that this host returned for this key."]
      )
      const now = yield* runInProcess(["events", "list", "--since", "now"], env)
      assert.strictEqual(now.how, "wrong usage")
      const { next_cursor } = yield* Effect.promise(() => client.list_events({}))
      const rest = yield* runInProcess(["events", "list", "--since", next_cursor], env)
      assert.deepStrictEqual(rest, { how: "done", out: "", err: "" })
    })
  )
})

describe("quotewire quotes", () => {
  it.live("waits for a request's quotes, and prints the quotes as text", () =>
    Effect.gen(function* () {
      const { address, client, env } = yield* host
      const { id } = yield* Effect.promise(() =>
        client.start_quote_request({
          line: "renters",
          consent_receipt_id: "receipt-0001",
          request_key: "request",
          application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
        })
      )
      const reads = yield* Queue.unbounded<string>()
      const { address: between } = yield* server(async (request, response) => {
        const { authorization = "", "service-version": revision = "" } = request.headers
        const headers = { authorization, "service-version": String(revision) }
        Queue.offerUnsafe(reads, request.url ?? "")
        const answer = await fetch(`${address}${request.url}`, { headers })
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
      })
      const waiting = yield* Effect.forkScoped(
        runInProcess(["quotes", "wait", id], { ...env, QUOTEWIRE_BASE_URL: between })
      )
      // It reads the request, finds it in progress, and waits for a newer version.
      while (!(yield* Queue.take(reads)).includes("since_version"));
      yield* Effect.promise(() => client.advance_time({ seconds: 60 }))
      const waited = yield* Fiber.join(waiting)
      assert.match(waited.out, new RegExp(`^${id}  renters: completed \\(quotes_ready\\)`))
      assert.deepStrictEqual(yield* runInProcess(["quotes", "show", id], env), waited)

      const [, quote_id = ""] = /(qt_\w+)/.exec(waited.out) ?? []
      const { out } = yield* runInProcess(["quotes", "show", quote_id], env)
      assert.match(out, /^qt_\w+ {2}version 1: active \(offered\)\. This price is available/)
      assert.match(out, /^per month {4}\$13\.84: Per month of cover.*\nprice {8}\$166\.04 for 12 months$/m)
      assert.match(out, /^coverages {4}personal property: up to \$30,000\.00$/m)
      assert.match(out, /^expires {6}\d{4}-/m)
      assert.match(out, /^assumed {6}\S.*\n {13}\S/m)
      assert.match(out, /^next {9}continue_on_carrier_site {2}https?:\/\/\S+\/go\/.*\n {13}request_assistance$/m)
      const json = JSON.parse((yield* runInProcess(["quotes", "show", quote_id, "--json"], env)).out)
      assert.deepStrictEqual(json, yield* Effect.promise(() => client.get_quote({ id: quote_id })))
    })
  )
})

describe("quotewire requests", () => {
  it.live("follows the request log, and shows one call by ID", () =>
    Effect.gen(function* () {
      const { env, startOne } = yield* host
      const { id } = yield* startOne
      const { next } = yield* startInProcess(["requests", "tail"], env)
      const line = yield* next
      const [, request_id = ""] = /(?:^| )(req_\w+)/.exec(line) ?? []
      assert.match(line, new RegExp(`^\\d{4}-.*  202  start_quote_request  in \\d+ ms  req_\\w+  ${id}$`))
      const { out } = yield* runInProcess(["requests", "show", request_id], env)
      assert.match(out, /^status {12}202$/m)
      const json = JSON.parse((yield* runInProcess(["requests", "show", request_id, "--json"], env)).out)
      assert.deepStrictEqual([json.request_id, json.operation], [request_id, "start_quote_request"])
    })
  )

  it.live("omits quotewire listen's feed reads, but shows other programs' feed reads", () =>
    Effect.gen(function* () {
      const { client, env, startOne } = yield* host
      const { url } = yield* receiver(200)
      const listening = yield* startInProcess(["listen", "--forward-to", url, "--since", "start"], env)
      yield* startOne
      while (!(yield* listening.next).includes("quote_request.queued"));
      yield* Effect.promise(() => client.list_events({}))
      const { next } = yield* startInProcess(["requests", "tail"], env)
      const lines = [yield* next, yield* next].map((line) => line.split("  ")[2])
      assert.deepStrictEqual(lines, ["start_quote_request", "list_events"])
    })
  )

  it.live("names the settings that each kind of ID requires", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const stored = yield* runInProcess(["requests", "show", `qreq_${"0".repeat(26)}`], env)
      assert.strictEqual(
        stored.err,
        "quotewire: For qreq_…: Set QUOTEWIRE_DATABASE_URL (or --database-url, or --cells for several databases) and QUOTEWIRE_SEAL_KEYS (or --seal-keys); create a seal key with: openssl rand -base64 32."
      )
      const logged = yield* runInProcess(["requests", "show", `req_${"0".repeat(26)}`], {})
      assert.strictEqual(
        logged.err,
        "quotewire: For req_…: Set QUOTEWIRE_API_KEY (or --api-key); or save a key with: quotewire login."
      )
    })
  )
})

describe("a command that cannot call its host", () => {
  const list = ["events", "list"]

  it.live("fails with one sentence that names the wrong setting but never the key", () =>
    Effect.gen(function* () {
      const { address, keys } = yield* host
      const page = yield* server((_, response) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<p>Hello</p>")
      })
      const gone = yield* server(() => {})
      yield* Effect.promise(gone.close)
      const key = unknownKey("sandbox")
      const said = yield* Effect.forEach(
        [
          { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_API_KEY: key },
          { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_API_KEY: keys.widget },
          { QUOTEWIRE_BASE_URL: page.address, QUOTEWIRE_API_KEY: key },
          { QUOTEWIRE_BASE_URL: gone.address, QUOTEWIRE_API_KEY: key },
          { QUOTEWIRE_BASE_URL: address }
        ],
        (env) => Effect.map(runInProcess(list, env), ({ err, out }) => `${out}${err}`),
        { concurrency: 5 }
      )
      assert.deepStrictEqual(said, [
        "quotewire: The host rejected the key from --api-key (or QUOTEWIRE_API_KEY, or the profile).",
        "quotewire: The key from --api-key (or QUOTEWIRE_API_KEY, or the profile) is not allowed to do this: use a server key.",
        `quotewire: The host at ${page.address} returned HTTP 200 with text/html instead of JSON.`,
        `quotewire: Cannot reach the host at ${gone.address} (ECONNREFUSED). Check --base-url (or QUOTEWIRE_BASE_URL).`,
        "Set QUOTEWIRE_API_KEY (or --api-key); or save a key with: quotewire login. See quotewire events list --help."
      ])
    })
  )
})

describe("quotewire quotes list and requests list", () => {
  it.live("print newest first, apply the filters, and print JSON lines with --json", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const play = (line: string) =>
        runInProcess(["trigger", "quotes_ready", "--line", line, "--json", "--advance", "1h"], env)
      const renters = JSON.parse((yield* play("renters")).out).quote_request
      const pet = JSON.parse((yield* play("pet")).out).quote_request
      const listed = yield* runInProcess(["quotes", "list"], env)
      assert.deepStrictEqual([listed.how, listed.err], ["done", ""])
      assert.match(listed.out, new RegExp(`^${pet.id}  pet: completed \\(quotes_ready\\).*\n${renters.id}  renters: `))
      const completed = yield* runInProcess(
        ["quotes", "list", "--status", "completed", "--line", "renters", "--limit", "5", "--json"],
        env
      )
      assert.deepStrictEqual(
        completed.out
          .trim()
          .split("\n")
          .map((text) => JSON.parse(text).id),
        [renters.id]
      )
      // The host writes its log in the background.
      const calls = yield* runInProcess(
        ["requests", "list", "--quote-request", pet.id, "--operation", "start_quote_request"],
        env
      ).pipe(Effect.repeat({ until: ({ out }) => out !== "" }))
      assert.match(calls.out, new RegExp(`^\\S+  202  start_quote_request  in \\d+ ms  req_\\w+  ${pet.id}$`))
    })
  )

  it.live("name an invalid flag, and report the host's refusals", () =>
    Effect.gen(function* () {
      const { env } = yield* host
      const wrong = yield* runInProcess(["requests", "list", "--quote-request", "qt_1", "--limit", "0"], env)
      assert.strictEqual(wrong.how, "wrong usage")
      assert.include(wrong.err, "--quote-request must be the id of a quote request")
      assert.include(wrong.err, "--limit must be a whole number from 1 to 100")
      const refused = yield* runInProcess(["quotes", "list", "--line", "boat"], env)
      assert.include(refused.err, "line")
    })
  )
})
