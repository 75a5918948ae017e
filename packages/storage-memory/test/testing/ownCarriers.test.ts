import { defineCarrier, Money, Reply } from "@quotewire/core"
import { assert, describe, it } from "vitest"
import { type Sandbox, sandbox } from "../../src/testing/index.ts"

const lines = { renters: { states: ["NY"] } } as const
const anOffer = () => Reply.offers([{ offer_ref: "1", premium: Money.dollars(120) }])

/** A carrier that asks for a pause, and has no answer if it is called earlier. */
const limited = () => {
  let refusedAt: number | null = null
  return defineCarrier({
    id: "naic:10001",
    name: "Limited",
    lines,
    ask: async () => {
      if (refusedAt !== null) {
        return performance.now() - refusedAt >= 1_400 ? anOffer() : Reply.unavailable("carrier_error")
      }
      refusedAt = performance.now()
      return Reply.unavailable("rate_limited", 1_500)
    }
  })
}

/** A carrier that takes a fixed time, however often it is polled. */
const polled = () => {
  let readyAt = Number.POSITIVE_INFINITY
  return defineCarrier({
    id: "naic:10002",
    name: "Polled",
    lines: { renters: { states: ["NY"], mode: "poll" } },
    ask: async ({ idempotency_key }) => {
      readyAt = performance.now() + 2_500
      return Reply.pending(idempotency_key, { poll_after_ms: 2_000 })
    },
    poll: async ({ ref }) => (performance.now() >= readyAt ? anOffer() : Reply.pending(ref, { poll_after_ms: 2_000 }))
  })
}

const callingBack = (call: (ref: string) => void) =>
  defineCarrier({
    id: "naic:10003",
    name: "Calling back",
    lines: { renters: { states: ["NY"], mode: "callback" } },
    ask: async ({ idempotency_key }) => {
      setTimeout(() => call(idempotency_key), 700)
      return Reply.pending(idempotency_key)
    },
    callback: ({ text }) => ({ ref: text, reply: anOffer() })
  })

const silent = defineCarrier({
  id: "naic:10004",
  name: "Silent",
  lines: { renters: { states: ["NY"], attempt_timeout_ms: 1_500 } },
  ask: () => new Promise(() => {})
})

describe("the test kit's clock", () => {
  for (const step of ["1 second", "7 seconds", "1 hour"] as const) {
    it(`gives your own carriers the real time that they need, in steps of ${step}`, async () => {
      let world: Sandbox | undefined
      const callBack = (ref: string) => {
        void world?.quotewire.carrierCallback("naic:10003", { headers: {}, body: new TextEncoder().encode(ref) })
      }
      world = await sandbox({
        carriers: [limited(), polled(), callingBack(callBack), silent],
        fictional_carriers: false
      })
      const { id } = await world.client.start_quote_request({
        line: "renters",
        consent_receipt_id: "receipt-0001",
        request_key: "the-request",
        application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
      })
      await world.advanceUntil(world.client.wait_for_quotes(id), { step })
      const { quote_request } = await world.client.get_quote_request({ id })
      assert.deepStrictEqual(
        quote_request.carriers.map(({ carrier, outcome }) => [carrier.name, outcome]),
        [
          ["Limited", "quoted"],
          ["Polled", "quoted"],
          ["Calling back", "quoted"],
          ["Silent", "no_answer"]
        ]
      )
      await world.close()
    })
  }
})
