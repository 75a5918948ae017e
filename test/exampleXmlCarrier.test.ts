import { assert, describe, it } from "@effect/vitest"
import { CarrierContract, Cassette } from "@quotewire/core/testing"
import { CarrierTransports } from "@quotewire/http"
import { Effect } from "effect"
import { startCarrier } from "../examples/carriers/server.ts"
import { xml } from "../examples/carriers/xml.ts"
import { xmlPolls } from "../examples/carriers/xml-polls.ts"
import { type AdapterAt, application, callbackSecret, practise } from "./support/practice.ts"

/*
 * The XML adapters of examples/carriers, over real sockets: recorded and played back, and in a sandbox whose clock is
 * advanced. Their bad days are in exampleCarriers.test.ts.
 */

const connection = { client_id: "broker-7", client_secret: "a secret of Acme's" }
const facts = { renters: { ...application, applicant: { email: "ada@example.com" } } }

/** Records the contract against the carrier, which then stops. */
const recorded = (at: AdapterAt) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { url } = yield* Effect.acquireRelease(
        Effect.promise(() => startCarrier({ callback_secret: callbackSecret })),
        ({ close }) => Effect.promise(close)
      )
      const adapter = at(url)
      const recording = yield* Cassette.record(yield* CarrierTransports.make(), adapter, connection)
      const given = { connection, transport: recording.transport }
      for (const { effect } of CarrierContract.cases(adapter, facts, given)) yield* effect
      return { adapter, cassette: yield* recording.cassette }
    })
  )

describe.each([
  ["xml.ts", xml, "<Amt>190.00</Amt>"],
  ["xml-polls.ts", xmlPolls, "<Premium>1,181.10</Premium>"]
] as const)("the example XML adapter %s", (_, at, premium) => {
  it.live("can be recorded and replayed without secrets or personal data", () =>
    Effect.gen(function* () {
      const { adapter, cassette } = yield* recorded(at)
      const text = Cassette.text(cassette)
      assert.include(text, premium)
      assert.notMatch(text, /secret of Acme|token-\d|ada@example/)
      for (const { effect } of CarrierContract.cases(adapter, facts, { cassette: JSON.parse(text) })) yield* effect
    })
  )

  it("quotes in a sandbox, even if the clock advances immediately", async () => {
    await using world = await practise(at)
    const member = await world.join(world.quotewire, "sandbox", "Borealis")
    const client = world.quotewire.client(member.key)
    const id = await member.start()
    for (const step of [1, 5, 60]) {
      let isDone = false
      void client.advance_time({ seconds: step }, { idempotency_key: `advance-${step}` }).finally(() => {
        isDone = true
      })
      await world.time.until(() => isDone)
    }
    const [outcome] = await member.ended(id)
    assert.strictEqual(outcome, "quoted")
    assert.deepStrictEqual(world.warnings, [])
  })
})
