import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { embed, generateSealKey } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"
import { Effect } from "effect"
import { freshDatabase } from "../../../test/support/TestDatabase.ts"
import { ailing } from "./support/ailing.config.ts"
import { type Ran, runInProcess } from "./support/inProcess.ts"

const config = fileURLToPath(new URL("support/ailing.config.ts", import.meta.url))
const sealKey = generateSealKey()

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A service on a database whose only carrier failed until its circuit opened. Returns the last request. */
const world = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(Effect.promise(freshDatabase), ({ drop }) => Effect.promise(drop))
  const quotewire = yield* Effect.acquireRelease(
    Effect.sync(() => embed({ storage: postgres({ url }), carriers: [ailing], seal_keys: [sealKey], logger: silent })),
    ({ close }) => Effect.promise(close)
  )
  const last = yield* Effect.promise(async () => {
    const { id: organization_id } = await quotewire.createOrganization("Acme")
    const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
    const client = quotewire.client(key)
    const ask = async (nth: number) => {
      const { id } = await client.start_quote_request({
        line: "renters",
        consent_receipt_id: "receipt-0001",
        request_key: `request-${nth}`,
        application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
      })
      await client.wait_for_quotes(id)
      return id
    }
    for (let nth = 0; nth < 19; nth++) await ask(nth)
    return ask(19)
  })
  const env = { QUOTEWIRE_CONFIG: config, QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: sealKey }
  return { quotewire, last, command: (...args: ReadonlyArray<string>) => runInProcess(args, env) }
})

const done = (ran: Ran) => {
  assert.strictEqual(ran.how, "done", ran.err)
  return ran.out
}

describe("carrier circuits", () => {
  it.live("can be shown and closed by a command or an embedding program", () =>
    Effect.gen(function* () {
      const { command, last, quotewire } = yield* world
      const { carriers } = yield* Effect.promise(() => quotewire.carrierStatus({ carrier_id: "naic:12345" }))
      const [live] = carriers.filter(({ environment }) => environment === "live")
      assert.include(live, { circuit: "open", in_flight: 0, why: "20 of 20 asks failed: carrier_error 20" })

      const shown = JSON.parse(done(yield* command("carriers", "status", "--json")))
      assert.deepInclude(shown.carriers, live)
      const page = done(yield* command("carriers", "status", "--carrier", "naic:12345"))
      assert.include(page, "naic:12345  renters  live\n  circuit open since ")
      assert.include(page, ": 20 of 20 asks failed: carrier_error 20")
      const told = done(yield* command("requests", "show", last))
      assert.match(told, /naic:12345\n(?: .*\n)*? .*circuit {4}this ask opened the circuit/)

      const reset = done(yield* command("carriers", "reset", "naic:12345", "--line", "renters"))
      assert.match(reset, /^naic:12345 {2}renters {2}live\n {2}circuit closed since /)
      const again = yield* command("carriers", "reset", "naic:12345")
      assert.deepStrictEqual([done(again), again.err], ["", "No circuit was open."])
      const after = yield* Effect.promise(() => quotewire.carrierStatus())
      assert.deepStrictEqual(
        after.carriers.map(({ circuit }) => circuit),
        after.carriers.map(() => "closed")
      )
      assert.deepStrictEqual(yield* Effect.promise(() => quotewire.resetCarrier({ carrier_id: "naic:12345" })), [])

      const unknown = yield* command("carriers", "reset", "naic:00000")
      assert.deepStrictEqual(
        [unknown.how, unknown.err],
        ["failed", "quotewire: <carrier>: Must be the id of one of this program's carriers. Known: naic:12345."]
      )
    })
  )
})
