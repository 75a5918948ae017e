import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import { CarrierHttpMistake } from "../../src/carriers/http/CarrierHttpError.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import * as CarrierContract from "../../src/testing/CarrierContract.ts"
import { logOfRequest, single } from "../quoting/log.ts"
import { outcomes, testInWorld } from "../support/world.ts"
import { json, make, withClient } from "./fakeCarrier.ts"

const foreign: Schema.Decoder<unknown> = Object.create(Schema.String, { ast: { value: { ...Schema.String.ast } } })
const server = make(() => json({ premium: "12.00" }))
const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  environments: ["live"],
  lines: { renters: { states: ["NY"] } },
  http: { base_url: "https://api.acme.example" },
  ask: async ({ http }) => {
    ;(await http.get("/q")).json(foreign)
    return Reply.decline("prior_claims")
  }
})

describe("a schema from another copy of Effect", () => {
  it.effect("causes an error that mentions the second copy when an answer is read", () =>
    withClient(
      () => json({ premium: "12.00" }),
      (http) =>
        Effect.gen(function* () {
          const answer = yield* Effect.promise(() => http.get("/q"))
          for (const read of [() => answer.json(foreign), () => answer.xml(foreign)]) {
            assert.throws(read, CarrierHttpMistake, /second copy of effect/)
          }
        })
    )
  )

  testInWorld(
    "makes its carrier's asks fail, and the log says what to change",
    Effect.gen(function* () {
      const { id, lines } = yield* logOfRequest()
      assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 no_answer carrier_error"])
      const { mistake } = single(lines, "A carrier's adapter misuses its HTTP client").annotations
      assert.match(String(mistake), /^json\(schema\): .*second copy of effect/)
    }),
    { carriers: [acme], surroundings: Layer.succeed(CarrierTransport, server.client) }
  )

  it("breaks the carrier contract, with a message that names the mistake", async () => {
    const cases = CarrierContract.cases(acme, {}, { transport: server.client })
    const ended = await Promise.allSettled(cases.map(({ run }) => run()))
    const said = ended.map((end) => (end.status === "rejected" ? String(end.reason.message) : ""))
    assert.include(said.join("\n"), "ask misuses its HTTP client: json(schema): ", said.join("\n"))
  })
})
