import { assert, describe, it } from "@effect/vitest"
import {
  apiKey,
  basic,
  bearer,
  defineCarrier,
  defineLine,
  embed,
  oauth,
  RatePlan,
  Rating,
  ratePlanCarrier,
  readConfig,
  verifyWebhook
} from "@quotewire/core"
import { CarrierContract } from "@quotewire/core/testing"
import { CarrierTransports, NodeWebhookSender, nodeHandler, protectedResource, ServiceApi } from "@quotewire/http"
import { webHandler } from "@quotewire/http/web"
import { Endpoint, mcp, Tools } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { postgres } from "@quotewire/storage-pg"
import { Result } from "effect"

/*
 * A program in JavaScript can pass anything. Each function then says what it wants, by its own name and the name of the field.
 */

/** A value that the compiler does not know. */
const unknownTo = (json: string) => JSON.parse(`{"given":${json}}`).given

const service = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example", work: false })

/** A function's name, how it is called, and a field that it misses in an empty object. */
type Row = readonly [name: string, call: (given: ReturnType<typeof unknownTo>) => unknown, field?: string]

const rows: ReadonlyArray<Row> = [
  ["defineCarrier", (given) => defineCarrier(given), "lines: Must be an object with at least one line."],
  ["defineLine", (given) => defineLine(given), "facts: This field is required."],
  ["Rating.make", (given) => Rating.make(given), "covers: This field is required."],
  ["oauth", (given) => oauth(given), "token_path or token_url"],
  ["apiKey", (given) => apiKey(given), "header: This field is required."],
  ["bearer", (given) => bearer(given), "field: This field is required."],
  ["basic", (given) => basic(given), "password: This field is required."],
  ["ratePlanCarrier", (given) => ratePlanCarrier({}, given)],
  ["RatePlan.check", (given) => RatePlan.check({}, given)],
  ["CarrierContract.cases", (given) => CarrierContract.cases(given), "adapter.lines: This field is required."],
  ["verifyWebhook", (given) => verifyWebhook(given), "body: This field is required."],
  ["embed", (given) => embed(given).ready, "storage: Must be a layer"],
  ["createKey", (given) => service.createKey(given), "kind: This field is required."],
  ["setConnection", (given) => service.setConnection(given), "carrier_id: This field is required."],
  ["testConnection", (given) => service.testConnection(given), "carrier_id: This field is required."],
  ["removeConnection", (given) => service.removeConnection(given), "environment: This field is required."],
  ["carrierCallback", (given) => service.carrierCallback("naic:12345", given), "headers: This field is required."],
  ["timeline", (given) => service.timeline("qr_1", given)],
  ["listParkedEvents", (given) => service.listParkedEvents("billing", given)],
  ["retryParkedEvent", (given) => service.retryParkedEvent("billing", given), "event_id: This field is required."],
  ["dropParkedEvent", (given) => service.dropParkedEvent("billing", given), "event_id: This field is required."],
  ["nodeHandler", (given) => nodeHandler(given), "service: Must be the service that embed returns."],
  ["webHandler", (given) => webHandler(given), "service: Must be the service that embed returns, or a function"],
  ["protectedResource", (given) => protectedResource(given), "base_url: This field is required."],
  ["ServiceApi.of", (given) => ServiceApi.of(given)],
  ["CarrierTransports.layer", (given) => CarrierTransports.layer(given)],
  ["NodeWebhookSender.layer", (given) => NodeWebhookSender.layer(given)],
  ["postgres", (given) => postgres(given)],
  ["mcp", (given) => mcp(given)],
  ["Endpoint.make", (given) => Endpoint.make(given), "version: This field is required."],
  ["Tools.of", (given) => Tools.of(given), "operations: Must be a list."]
]

/** The error that a call throws or rejects with. */
const errorOf = async (call: () => unknown): Promise<Error> => {
  try {
    await call()
  } catch (error) {
    assert.instanceOf(error, Error)
    return error
  }
  throw new assert.AssertionError("expected an error")
}

describe("a function that is called from JavaScript", () => {
  it.each(rows)("%s names itself if it is given no object", async (name, call) => {
    for (const json of ["null", '"secret"', "5"]) {
      const error = await errorOf(() => call(unknownTo(json)))
      assert.notInstanceOf(error, TypeError, json)
      assert.include(error.message, name)
      assert.match(error.message, /must be|needs an object/i)
      assert.notInclude(error.message, "secret")
    }
  })

  it.each(rows.filter(([, , field]) => field !== undefined))(
    "%s names the field that an empty object lacks",
    async (_, call, field = "") => {
      const error = await errorOf(() => call(unknownTo("{}")))
      assert.notInstanceOf(error, TypeError)
      assert.include(error.message, field)
    }
  )

  it.each<readonly [string, () => unknown, RegExp]>([
    ["the options of a handler", () => nodeHandler(service, unknownTo("null")), /^The options of a handler must be/],
    [
      "a body that was parsed",
      () => verifyWebhook({ secrets: [], headers: {}, body: unknownTo('{"id":"evt_1"}') }),
      /body: Must be the raw body, as text or bytes/
    ],
    [
      "an authorization that was not made by one of its functions",
      () =>
        defineCarrier({
          id: "naic:12345",
          name: "Acme",
          lines: { renters: { states: ["NY"] } },
          http: { base_url: "https://acme.example", auth: unknownTo('"secret"') },
          ask: () => unknownTo("null")
        }),
      /http\.auth: Must be what oauth, apiKey, bearer or basic returns\./
    ],
    [
      "a tool that is none",
      () => mcp({ tools: [unknownTo('{"name":"mine"}')] }),
      /tools\.0\.call: This field is required/
    ],
    [
      "an unknown kind of key",
      () => service.createKey({ organization_id: "", environment: "live", kind: unknownTo('"root"') }),
      /kind: Must be/
    ]
  ])("says what is wrong with %s", async (_, call, says) => {
    assert.match((await errorOf(call)).message, says)
  })

  it("has its configuration judged by whoever reads it", () => {
    const config = readConfig(unknownTo("null"))
    assert.isTrue(Result.isFailure(config) && config.failure.message.includes("as defineConfig returns"))
  })
})
