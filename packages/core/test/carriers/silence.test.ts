import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { carriers, silent } from "../quoting/carriers.ts"
import { logOf, single } from "../quoting/log.ts"
import { live, pass, start, testInWorld, work } from "../support/world.ts"
import { onRecord } from "./onRecord.ts"

/* What the log says when a carrier does not answer. */

const carrier = { id: "naic:12345", name: "Acme Mutual", lines: { renters: { states: ["NY"] } } } as const

/** What is logged while a carrier is asked. */
const lines = Effect.suspend(() => logOf(Effect.all([work, start({}, live), pass(16_000)])))

describe("the log", () => {
  const reading = defineCarrier({
    ...carrier,
    http: { base_url: "https://api.acme.example" },
    ask: async ({ http }) => {
      const { number } = (await http.get("/quotes")).json(Schema.Struct({ number: Schema.String }))
      return Reply.pending(number)
    }
  })
  const transport = HttpClient.make((request) =>
    Effect.succeed(HttpClientResponse.fromWeb(request, Response.json({ number: 4_711 })))
  )
  testInWorld(
    "names an answer's fields that do not match the adapter's schema, without their values",
    Effect.gen(function* () {
      const line = single(yield* lines, "A carrier was unreachable or sent no usable answer")
      assert.match(String(line.annotations.broken_rules), /^number: /)
      assert.strictEqual(line.annotations.fault, "CarrierHttpError SCHEMA_MISMATCH")
      assert.notInclude(JSON.stringify(line), "4711")
    }).pipe(Effect.provideService(CarrierTransport, transport)),
    { carriers: [reading] }
  )

  const huge = HttpClient.make((request) =>
    Effect.succeed(HttpClientResponse.fromWeb(request, Response.json("x".repeat(2_000_000))))
  )
  testInWorld(
    "reports an answer that exceeds the size limit",
    Effect.gen(function* () {
      const line = single(yield* lines, "A carrier was unreachable or sent no usable answer")
      assert.match(String(line.annotations.broken_rules), /^Must be at most 1048576 bytes/)
      assert.strictEqual(line.annotations.fault, "CarrierHttpError TOO_LARGE")
      const [exchange] = yield* onRecord()
      assert.deepInclude(exchange, { reason: "unreadable_answer", fault: "CarrierHttpError TOO_LARGE" })
      assert.match(exchange?.broken_rules[0]?.message ?? "", /1048576 bytes/)
    }).pipe(Effect.provideService(CarrierTransport, huge)),
    { carriers: [reading] }
  )

  testInWorld(
    "says that an adapter returned no answer",
    Effect.gen(function* () {
      const line = single(yield* lines, "A carrier's adapter returned no answer")
      assert.deepInclude(line.annotations, { carrier_id: "naic:12345", reason: "maintenance" })
    }),
    { carriers: [defineCarrier({ ...carrier, ask: () => Reply.unavailable("maintenance") })] }
  )

  testInWorld(
    "says that an adapter did not answer in time",
    Effect.gen(function* () {
      const line = single(yield* lines, "A carrier timed out")
      assert.strictEqual(line.annotations.carrier_id, "never")
    }),
    carriers(silent("never", { idempotent: false }))
  )
})
