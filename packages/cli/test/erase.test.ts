import { assert, describe, it } from "@effect/vitest"
import { type ErasureReport, embed, generateSealKey } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { freshDatabase, statements } from "../../../test/support/TestDatabase.ts"
import { type Ran, runInProcess } from "./support/inProcess.ts"

const sealKeys = generateSealKey()
const receipt = "receipt-of-ada"

/** A database with an organization, and a host that serves calls on it. */
const world = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(Effect.promise(freshDatabase), ({ drop }) => Effect.promise(drop))
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() =>
      embed({
        storage: PgStorage.layer({ url: Redacted.make(url) }),
        seal_keys: [sealKeys]
      })
    ),
    ({ close }) => Effect.promise(close)
  )
  const organization = yield* Effect.promise(() => quotewire.createOrganization("Acme"))
  const { key: api_key } = yield* Effect.promise(() =>
    quotewire.createKey({ organization_id: organization.id, environment: "sandbox", kind: "server" })
  )
  const client = quotewire.client(api_key)
  let starts = 0
  const start = (consent_receipt_id: string) =>
    Effect.promise(async () => {
      const { id } = await client.start_quote_request({
        line: "pet",
        // Its quotes get a second version.
        scenario: "price_update",
        request_key: `start-${++starts}`,
        consent_receipt_id,
        application: {
          applicant: { first_name: "Adalynda", last_name: "Lovelacey" },
          residence: { state: "TX", zip: "78701" },
          pets: [{ name: "Wuschelbart", species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
        }
      })
      return id
    })
  const env = { QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKeys }
  const erase = (args: ReadonlyArray<string>, input?: string) =>
    runInProcess(["erase", "--by", "ticket 4711", ...args], env, input)
  const place = ["--organization", organization.id, "--environment", "sandbox"]
  const advance = Effect.promise(() => client.advance_time({ seconds: 3_600 }, { idempotency_key: "advance" }))
  return { url, env, quotewire, client, start, erase, place, advance }
})

const report = ({ err, how, out }: Ran): ErasureReport & { readonly dry_run: boolean } => {
  assert.strictEqual(how, "done", err)
  return JSON.parse(out)
}

describe("quotewire erase", () => {
  it.live("requires --by for an erasure, but not for a dry run", () =>
    Effect.gen(function* () {
      const { env, quotewire, start } = yield* world
      const id = yield* start(receipt)
      const dry = report(yield* runInProcess(["erase", id, "--dry-run", "--json"], env))
      assert.deepInclude(dry, { dry_run: true, erased: 0, to_erase: 1 })
      const found = yield* Effect.promise(() => quotewire.erase({ quote_request_id: id }, { dry_run: true }))
      assert.strictEqual(found.to_erase, 1)
      const refused = yield* runInProcess(["erase", id], env)
      assert.notStrictEqual(refused.how, "done")
      assert.include(refused.err, "--by is required, except with --dry-run")
      for (const options of [{}, { dry_run: false }]) {
        // A JavaScript program can call it like this.
        const given: Parameters<typeof quotewire.erase>[1] = JSON.parse(JSON.stringify(options))
        const error = yield* Effect.promise(() =>
          quotewire.erase({ quote_request_id: id }, given).then(
            () => null,
            (error: { readonly field_errors?: unknown }) => error
          )
        )
        assert.deepStrictEqual(error?.field_errors, [{ path: "by", message: "This field is required." }])
      }
    }).pipe(Effect.scoped)
  )

  it.live("erases one quote request, and reports what was erased and what remains", () =>
    Effect.gen(function* () {
      const { advance, client, env, erase, quotewire, start, url } = yield* world
      const id = yield* start(receipt)
      yield* advance
      const { quotes } = yield* Effect.promise(() => client.get_quote_request({ id, wait_seconds: 0 }))
      assert.isAbove(quotes.length, 0)
      const [{ price } = assert.fail("There is no quote")] = quotes
      assert.include(JSON.stringify(quotes), "Wuschelbart")
      const dry = report(yield* erase([id, "--dry-run", "--json"]))
      assert.deepInclude(dry, { dry_run: true, erased: 0, to_erase: 1 })
      const rows = (kind: string) =>
        Effect.promise(() => statements(url, `select * from quotewire.record where kind = '${kind}'`))
      const older = Effect.promise(() => statements(url, "select * from quotewire.older_version"))
      assert.lengthOf(yield* rows("application"), 1)
      assert.isNotEmpty(yield* rows("offer"))
      assert.isNotEmpty(yield* older)
      const { err, how, out } = yield* erase(["--request", id])
      assert.strictEqual(how, "done", err)
      assert.match(out, new RegExp(`^${id} {2}erased {2}.*Z by "ticket 4711" {2}${quotes.length} quotes?`))
      assert.match(out, /Erasure removes .*\nErasure keeps /)
      assert.lengthOf(yield* rows("application"), 0)
      assert.lengthOf(yield* rows("offer"), 0)
      assert.lengthOf(yield* older, 0)
      const after = yield* Effect.promise(() => client.get_quote_request({ id, wait_seconds: 0 }))
      assert.notInclude(JSON.stringify(after), "Wuschelbart")
      // The carrier's text is erased, its prices remain.
      const remains = after.quotes.find((quote) => quote.id === quotes[0]?.id)?.price
      assert.deepStrictEqual(remains, { ...price, billing_cycle: null })
      const dryAgain = report(yield* erase(["--dry-run", "--json", id]))
      assert.deepInclude(dryAgain, { dry_run: true, already_erased: 1 })
      assert.deepStrictEqual(report(yield* erase(["--request", id, "--dry-run", "--json"])), dryAgain)
      const again = yield* Effect.promise(() => quotewire.erase({ quote_request_id: id }, { by: "another" }))
      assert.deepInclude(again.requests[0], { outcome: "already_erased", by: "ticket 4711" })
      const shown = yield* runInProcess(["requests", "show", id], env)
      assert.match(
        shown.out,
        /\d\.\d{3} {2}erased {5}the person's data, by "ticket 4711": prices of \d+ quotes? remain\n/
      )
    })
  )

  it.live("erases all quote requests for a receipt from standard input, and never shows the receipt", () =>
    Effect.gen(function* () {
      const { erase, place, start } = yield* world
      const ids = [yield* start(receipt), yield* start(receipt)]
      yield* start("receipt-of-others")
      const args = ["--receipt-stdin", ...place]
      const ran = yield* erase([...args, "--json"], `${receipt}\n`)
      assert.deepStrictEqual(
        report(ran).requests.map(({ quote_request_id, outcome }) => [quote_request_id, outcome]),
        ids.map((id) => [id, "erased"])
      )
      const again = yield* erase(args, receipt)
      assert.match(again.out, /Erased: 0\. Erased before: 2\./)
      const none = yield* erase(args, "receipt-of-nobody")
      assert.deepStrictEqual([none.how, none.out], ["done", "Nothing was found, and nothing was changed."])
      assert.notInclude([ran, again, none].map(({ err, out }) => out + err).join(), "receipt-of")
    })
  )

  it.live("reports each error in one sentence, without repeating the receipt", () =>
    Effect.gen(function* () {
      const { erase, place } = yield* world
      const unknown = `qreq_${"0".repeat(26)}`
      const nobody = ["--organization", `org_${"0".repeat(26)}`, "--environment", "live"]
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, string, Ran["how"], RegExp]> = [
        [[], "", "wrong usage", /Give either the id of a quote request or --receipt-stdin, not both\.$/],
        [["--request", unknown, "--receipt-stdin"], "", "wrong usage", /, not both\.$/],
        [["--request", "secret"], "", "wrong usage", /--request must be an id such as qreq_01/],
        [["--receipt-stdin"], receipt, "wrong usage", /needs --organization and --environment\.$/],
        [["--receipt-stdin", receipt], "", "wrong usage", /<id> must be an id such as qreq_01/],
        [[unknown, "--request", unknown], "", "wrong usage", /, not both\.$/],
        [["--receipt-stdin", ...place], " \n", "failed", /must be one receipt of 1 to 128 characters\.$/],
        [["--receipt-stdin", ...nobody], receipt, "failed", /No such organization\.$/]
      ]
      for (const [args, input, how, message] of wrong) {
        const ran = yield* erase(args, input)
        assert.strictEqual(ran.how, how, args.join(" "))
        assert.match(ran.err.replace(/\. See .*--help\.$/, "."), message)
        assert.notInclude(ran.err + ran.out, receipt)
      }
      const unheard = yield* runInProcess(["erase", "--request", unknown], {
        QUOTEWIRE_DATABASE_URL: "postgres://quotewire@127.0.0.1:1/none",
        QUOTEWIRE_SEAL_KEYS: sealKeys
      })
      assert.match(unheard.err, /--by is required/)
    })
  )
})
