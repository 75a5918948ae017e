import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Access } from "../../src/access/Access.ts"
import * as operations from "../../src/operations.ts"
import { Quotes } from "../../src/quoting/Quotes.ts"
import * as Change from "../../src/storage/Change.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { sealKeys, World } from "../../src/testing/World.ts"
import { OrganizationId } from "../../src/wire/Ids.ts"
import { everyLine, personalTexts } from "../access/persons.ts"
import { logOf } from "../carriers/support.ts"
import {
  agreed,
  anotherHost,
  feed,
  getQuote,
  keyless,
  live,
  noKey,
  pass,
  read,
  refusal,
  runDue,
  start,
  startWith,
  stranger,
  testInWorld,
  work
} from "../support/world.ts"
import { carriers, offer, offers, prompt, silent, unavailable } from "./carriers.ts"
import {
  aboutPet,
  by,
  countsOf,
  environments,
  erase,
  eraseReceipt,
  eraseRequest,
  nothing,
  question,
  storedTexts
} from "./erasing.ts"

/** A request in each state: the carriers that lead to it, and its status before and after its erasure. */
const states = [
  ["queued", [prompt("a")], ["in_progress", "queued"], ["failed", "consent_withdrawn"]],
  ["collecting", [silent("a")], ["in_progress", "collecting"], ["failed", "consent_withdrawn"]],
  [
    "with its first quotes",
    [prompt("a", offers(aboutPet)), silent("b")],
    ["in_progress", "quotes_arriving"],
    ["failed", "consent_withdrawn"]
  ],
  [
    "with a carrier's question",
    [prompt("a", offers(aboutPet)), prompt("b", question)],
    ["action_required", "carrier_question"],
    ["failed", "consent_withdrawn"]
  ],
  ["completed", [prompt("a", offers(aboutPet))], ["completed", "quotes_ready"], ["completed", "quotes_ready"]],
  [
    "failed",
    [prompt("a", unavailable("maintenance"))],
    ["failed", "no_carrier_answered"],
    ["failed", "no_carrier_answered"]
  ]
] as const

describe("erasing a quote request", () => {
  for (const environment of environments) {
    for (const [name, asked, before, after] of states) {
      testInWorld(
        `ends the request and its quotes, and keeps prices and events (${name}, in ${environment})`,
        Effect.gen(function* () {
          const options = { environment }
          const { organization } = yield* World
          const { id } = yield* start({ line: "pet" }, options)
          if (before[1] !== "queued") {
            yield* work
            yield* pass(5_000)
          }
          const { quote_request: seen, quotes } = yield* read(id, options)
          assert.deepStrictEqual([seen.status, seen.status_details.reason], [...before])
          // The report says what was erased.
          const report = yield* eraseRequest(id)
          assert.deepStrictEqual(countsOf(report), { erased: 1, already_erased: 0, to_erase: 0 })
          const [erased = assert.fail("Nothing is listed")] = report.requests
          assert.strictEqual(erased.quote_request_id, String(id))
          assert.deepInclude(erased, {
            outcome: "erased",
            by,
            ended: seen.next_actions.length > 0,
            quotes: quotes.length
          })
          // The request and its quotes have ended; prices and sources are kept.
          const then = yield* read(id, options)
          assert.deepStrictEqual([then.quote_request.status, then.quote_request.status_details.reason], [...after])
          assert.deepStrictEqual(
            then.quotes.map(({ price, source, status, status_details }) => [
              price,
              source,
              status,
              status_details.reason
            ]),
            quotes.map(({ price, source }) => [
              { ...price, billing_cycle: null },
              { ...source, product: null },
              "inactive",
              "consent_withdrawn"
            ])
          )
          assert.notInclude(yield* storedTexts(organization.workspaces[environment]), "Wuschelbart")
          // Nothing continues: neither carriers nor the deadline change it anymore.
          yield* pass(200_000)
          assert.deepStrictEqual(yield* read(id, options), then)
          const told = (yield* feed(options)).filter(({ resource }) => resource.id === id)
          assert.deepStrictEqual(
            told.map(({ resource }) => resource.version),
            Array.from({ length: then.quote_request.version }, (_, index) => index + 1)
          )
          // A second erasure changes nothing, and reports the first.
          const again = yield* eraseRequest(id, { by: "somebody else" })
          assert.deepStrictEqual(countsOf(again), { erased: 0, already_erased: 1, to_erase: 0 })
          assert.deepStrictEqual(
            again.requests.map((request) => ({ ...request, outcome: "erased" })),
            report.requests.map((request) => ({ ...request }))
          )
        }),
        carriers(...asked)
      )
    }
  }

  testInWorld(
    "removes a carrier's unanswered question from a completed request",
    Effect.gen(function* () {
      const { organization } = yield* World
      const { id } = yield* start({ line: "pet" }, live)
      yield* runDue
      yield* runDue
      yield* TestClock.adjust(25 * 3_600_000)
      yield* runDue
      const { quote_request: before } = yield* read(id, live)
      assert.deepStrictEqual([before.status, before.carriers[0]?.message], ["completed", "How heavy is Wuschelbart?"])
      yield* eraseRequest(id)
      const { quote_request: after } = yield* read(id, live)
      assert.deepStrictEqual(after.status_details, before.status_details)
      assert.isNull(after.carriers[0]?.message ?? null)
      assert.notInclude(yield* storedTexts(organization.workspaces.live), "Wuschelbart")
    }),
    carriers(prompt("a", question))
  )

  testInWorld(
    "leaves no fact in any version of any stored record",
    Effect.gen(function* () {
      const { organization, call } = yield* World
      yield* everyLine
      const { sandbox } = organization.workspaces
      const before = yield* storedTexts(sandbox)
      for (const text of ["Adalynda", "Wuschelbart", "Babbageburgh", "Korallus"]) assert.include(before, text)
      const report = yield* eraseReceipt("receipt-secret-1")
      assert.strictEqual(report.erased, 9)
      const after = yield* storedTexts(sandbox)
      for (const text of personalTexts) assert.notInclude(after, text)
      const { quote_requests } = yield* call(operations.listQuoteRequests, { limit: 100 })
      const { quotes } = yield* read(quote_requests[0]?.id ?? "")
      const [quote] = quotes.filter(({ version }) => version > 2)
      if (quote === undefined) return assert.fail("No quote has several versions")
      assert.strictEqual((yield* getQuote(quote.id, quote.version)).id, quote.id)
      assert.strictEqual((yield* refusal(getQuote(quote.id, 1))).code, "not_found")
    })
  )

  testInWorld(
    "invalidates the read handle, and a retry of the start call starts nothing",
    Effect.gen(function* () {
      const options = { as: "platform" } as const
      const input = { line: "renters", request_key: "once" } as const
      const started = yield* start(input, options)
      const handle = { ...options, ...(started.read_handle !== undefined && { read_handle: started.read_handle }) }
      assert.strictEqual((yield* read(started.id, handle)).quote_request.id, started.id)
      yield* eraseRequest(started.id)
      assert.strictEqual((yield* refusal(read(started.id, handle))).code, "not_found")
      const repeated = yield* start(input, options)
      assert.deepStrictEqual([repeated.id, repeated.status, repeated.read_handle], [started.id, "failed", undefined])
    })
  )

  const linked = offer({ handoff_url: "https://carrier.example/1", refresh_after_ms: 3_600_000 })

  testInWorld("invalidates the links to carriers, and stops refreshes of offers", () => {
    let refreshes = 0
    const refresh = () =>
      Effect.sync(() => {
        refreshes += 1
        return { kind: "offer", offer: linked, reason: "rechecked" } as const
      })
    return {
      ...carriers(prompt("a", offers(linked), { rest: { refresh } })),
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        yield* runDue
        yield* TestClock.adjust(3_600_000)
        yield* runDue
        assert.strictEqual(refreshes, 1)
        const { quotes } = yield* read(id, live)
        assert.deepStrictEqual(
          quotes.map(({ status, version }) => [status, version]),
          [["active", 2]]
        )
        const path = String(
          quotes[0]?.next_actions.find(({ type }) => type === "continue_on_carrier_site")?.redirect_path
        )
        const go = Quotes.use((quotes) => quotes.go(path.replace("/go/", "")))
        assert.deepInclude(yield* go, { _tag: "redirect", url: "https://carrier.example/1" })
        yield* eraseRequest(id)
        assert.deepInclude(yield* go, { _tag: "page", status: 410 })
        const { quotes: then } = yield* read(id, live)
        yield* TestClock.adjust(3_600_000)
        yield* runDue
        assert.deepStrictEqual((yield* read(id, live)).quotes, then)
        assert.strictEqual(refreshes, 1)
      })
    }
  })

  testInWorld(
    "changes nothing in a dry run, and reports what would be erased",
    Effect.gen(function* () {
      const { id } = yield* start()
      const before = yield* read(id)
      const report = yield* eraseRequest(id, { dry_run: true })
      assert.deepStrictEqual(countsOf(report), { erased: 0, already_erased: 0, to_erase: 1 })
      const [{ quote_request_id, ...rest } = assert.fail("Nothing is listed")] = report.requests
      assert.strictEqual(String(quote_request_id), id)
      assert.deepStrictEqual(rest, { outcome: "to_erase", erased_at: null, by: null, ended: true, quotes: 0 })
      assert.deepStrictEqual(yield* read(id), before)
      yield* eraseRequest(id)
      const then = yield* eraseRequest(id, { dry_run: true, by: "somebody else" })
      assert.deepInclude(then.requests[0], { outcome: "already_erased", by })
    })
  )

  testInWorld(
    "erases all sealed data of the request and its application",
    Effect.gen(function* () {
      const { organization } = yield* World
      const storage = yield* Storage
      const { application_id, id } = yield* start()
      const workspace_id = organization.workspaces.sandbox
      const kind = "offer"
      const child = (id: string, parent: string) =>
        Change.record({ kind, id, parent, version: 1, body: "sealed", created_at: 1, updated_at: 1 })
      const writes = [child("first", id), child("second", application_id), child("third", `${id}0`)]
      yield* storage.commit(Change.make(workspace_id, { writes }))
      yield* eraseRequest(id)
      const { records } = yield* storage.page({ workspace_id, kind, order: "oldest", after: null, limit: 10 })
      assert.deepStrictEqual(
        records.map(({ id }) => id),
        ["third"]
      )
    })
  )

  testInWorld(
    "logs the request's id, and nothing else",
    Effect.gen(function* () {
      const { id } = yield* start({ line: "pet" })
      const lines = yield* logOf(eraseRequest(id))
      assert.lengthOf(lines, 1)
      assert.include(lines[0], id)
      for (const text of ["receipt", by]) assert.notInclude(lines[0], text)
    })
  )

  testInWorld(
    "returns an empty list for unknown ids, and names wrong fields in the error",
    Effect.gen(function* () {
      for (const unknown of [`qreq_${"0".repeat(26)}`, "qreq_", "?"]) {
        assert.deepStrictEqual(yield* eraseRequest(unknown), nothing)
      }
      assert.deepStrictEqual(yield* eraseReceipt("receipt-nobody"), nothing)
      const { id } = yield* start()
      const other = yield* Access.use((access) => access.createOrganization("Another"))
      assert.deepStrictEqual(
        yield* erase({ quote_request_id: id, organization_id: other.id, environment: "sandbox" }),
        nothing
      )
      assert.deepStrictEqual(yield* erase({ quote_request_id: id, environment: "live" }), nothing)
      assert.strictEqual((yield* read(id)).quote_request.status, "in_progress")
      const paths = (call: ReturnType<typeof erase>) =>
        Effect.map(Effect.flip(call), (error) =>
          error._tag === "invalid_input" ? error.field_errors?.map(({ path }) => path) : error._tag
        )
      assert.deepStrictEqual(yield* paths(eraseRequest("qreq_", { by: " " })), ["by"])
      assert.deepStrictEqual(yield* paths(eraseRequest("")), ["quote_request_id"])
      assert.deepStrictEqual(yield* paths(eraseRequest("qreq_", { force: true })), ["force"])
      const elsewhere = erase({
        consent_receipt_id: "receipt-0001",
        organization_id: OrganizationId.make(`org_${"0".repeat(26)}`),
        environment: "live"
      })
      assert.strictEqual(yield* paths(elsewhere), "not_found")
    })
  )
})

describe("erasing by consent receipt", () => {
  testInWorld(
    "finds every request with the receipt in one environment of one organization",
    Effect.gen(function* () {
      const other = yield* stranger
      const consent_receipt_id = "receipt-of-one-person"
      const mine: Array<string> = []
      for (let n = 0; n < 3; n++) mine.push((yield* start({ consent_receipt_id })).id)
      const contact = { receipt_id: "receipt-contact", channels: ["email"] }
      mine.push((yield* start({ consent_receipt_id, contact_consent: contact })).id)
      const others = [
        [(yield* start({ consent_receipt_id }, live)).id, live],
        [(yield* start({ consent_receipt_id }, { key: other.sandbox })).id, { key: other.sandbox }],
        [(yield* start()).id, {}]
      ] as const
      const report = yield* eraseReceipt(consent_receipt_id)
      assert.deepStrictEqual(
        report.requests.map(({ quote_request_id }): string => quote_request_id),
        mine
      )
      for (const [id, options] of others) {
        assert.strictEqual((yield* read(id, options)).quote_request.status, "in_progress")
      }
      assert.deepStrictEqual(countsOf(yield* eraseReceipt("receipt-contact")), {
        erased: 0,
        already_erased: 1,
        to_erase: 0
      })
    })
  )

  testInWorld(
    "finds requests that were started without a key by the receipt that the service issued",
    keyless(
      Effect.gen(function* () {
        const { id, quote_consent } = yield* startWith(agreed(), noKey)
        const report = yield* eraseReceipt(quote_consent?.receipt_id ?? "")
        assert.deepStrictEqual(
          report.requests.map(({ quote_request_id }) => quote_request_id),
          [id]
        )
      })
    )
  )

  testInWorld(
    "finds requests that were started before a seal key rotation",
    Effect.gen(function* () {
      yield* start()
      const rotated = yield* anotherHost({ seal_keys: sealKeys(2, 1) })
      yield* rotated(start({}))
      const { organization } = yield* World
      const report = yield* rotated(
        erase({ consent_receipt_id: "receipt-0001", organization_id: organization.id, environment: "sandbox" })
      )
      assert.strictEqual(report.erased, 2)
    }),
    { seal_keys: sealKeys(1) }
  )
})
