import { afterAll, assert, describe, it } from "@effect/vitest"
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
 * A JavaScript program can pass anything. Each function then says what it expects, with its own name and that of the
 * field.
 */

/** A value of a type that the compiler does not know. */
const unknownTo = (json: string) => JSON.parse(`{"given":${json}}`).given

const service = embed({ storage: MemoryStorage.layer, public_url: "https://shop.example", work: false })

/** How a function is called with one argument, and which field it misses in an empty object. */
interface Row {
  readonly name: string
  readonly call: (given: ReturnType<typeof unknownTo>) => unknown
  readonly lacks?: string
}

const rows: ReadonlyArray<Row> = [
  { name: "defineCarrier", call: (given) => defineCarrier(given), lacks: "lines" },
  { name: "defineLine", call: (given) => defineLine(given), lacks: "facts" },
  { name: "Rating.make", call: (given) => Rating.make(given), lacks: "covers" },
  { name: "oauth", call: (given) => oauth(given), lacks: "token_path or token_url" },
  { name: "apiKey", call: (given) => apiKey(given), lacks: "header" },
  { name: "bearer", call: (given) => bearer(given), lacks: "field" },
  { name: "basic", call: (given) => basic(given), lacks: "password" },
  { name: "ratePlanCarrier", call: (given) => ratePlanCarrier({}, given) },
  { name: "RatePlan.check", call: (given) => RatePlan.check({}, given) },
  { name: "CarrierContract.cases", call: (given) => CarrierContract.cases(given), lacks: "adapter.lines" },
  { name: "verifyWebhook", call: (given) => verifyWebhook(given), lacks: "headers" },
  { name: "embed", call: (given) => embed(given).ready, lacks: "storage" },
  { name: "createKey", call: (given) => service.createKey(given), lacks: "kind" },
  { name: "setConnection", call: (given) => service.setConnection(given), lacks: "carrier_id" },
  { name: "testConnection", call: (given) => service.testConnection(given), lacks: "carrier_id" },
  { name: "removeConnection", call: (given) => service.removeConnection(given), lacks: "environment" },
  { name: "carrierCallback", call: (given) => service.carrierCallback("naic:12345", given), lacks: "headers" },
  { name: "timeline", call: (given) => service.timeline("qr_1", given) },
  { name: "listParkedEvents", call: (given) => service.listParkedEvents("billing", given) },
  { name: "retryParkedEvent", call: (given) => service.retryParkedEvent("billing", given), lacks: "event_id" },
  { name: "dropParkedEvent", call: (given) => service.dropParkedEvent("billing", given), lacks: "event_id" },
  {
    name: "nodeHandler",
    call: (given) => nodeHandler(given),
    lacks: "service: Must be the service that embed returns"
  },
  { name: "webHandler", call: (given) => webHandler(given), lacks: "or a function that returns it" },
  { name: "protectedResource", call: (given) => protectedResource(given), lacks: "base_url" },
  { name: "ServiceApi.of", call: (given) => ServiceApi.of(given) },
  { name: "CarrierTransports.layer", call: (given) => CarrierTransports.layer(given) },
  { name: "NodeWebhookSender.layer", call: (given) => NodeWebhookSender.layer(given) },
  { name: "postgres", call: (given) => postgres(given) },
  { name: "mcp", call: (given) => mcp(given) },
  { name: "Endpoint.make", call: (given) => Endpoint.make(given), lacks: "version" },
  { name: "Tools.of", call: (given) => Tools.of(given), lacks: "operations" }
]

/** The error that a call throws or rejects with. */
const errorOf = async (call: () => unknown): Promise<Error> => {
  try {
    await call()
  } catch (error) {
    assert.instanceOf(error, Error)
    return error
  }
  return assert.fail("It throws nothing.")
}

afterAll(() => service.close())

describe("in plain JavaScript", () => {
  it.each(rows)(
    "$name rejects a value that is not an object, with an error that names the function",
    async ({ call, name }) => {
      for (const json of ["null", '"secret"', "5"]) {
        const error = await errorOf(() => call(unknownTo(json)))
        assert.notStrictEqual(error.name, "TypeError", json)
        assert.include(error.message, name)
        assert.match(error.message, /must be|needs an (?:options )?object/i)
        assert.notInclude(error.message, "secret")
      }
    }
  )

  it.each(rows.filter(({ lacks }) => lacks !== undefined))(
    "$name rejects an empty object, with an error that names a missing field",
    async ({ call, lacks = "" }) => {
      const error = await errorOf(() => call(unknownTo("{}")))
      assert.notStrictEqual(error.name, "TypeError")
      assert.include(error.message, lacks)
    }
  )

  it.each<readonly [string, () => unknown, RegExp]>([
    [
      "a handler's options",
      () => nodeHandler(service, unknownTo("null")),
      /^nodeHandler got an invalid argument\. options: Must be/
    ],
    [
      "an http.auth value that no authorization function returned",
      () =>
        defineCarrier({
          id: "naic:12345",
          name: "Acme",
          lines: { renters: { states: ["NY"] } },
          http: { base_url: "https://acme.example", auth: unknownTo('"secret"') },
          ask: () => unknownTo("null")
        }),
      /http\.auth: Must be the result of oauth, apiKey, bearer or basic\.$/
    ],
    ["an optional function", () => defineLine(unknownTo('{"rules":1}')), /rules: Must be a function\.(?!\.)/],
    ["an optional string", () => oauth(unknownTo('{"token_path":"/token","scope":null}')), /scope: Must be string\.$/],
    ["an invalid tool", () => mcp({ tools: [unknownTo('{"name":"mine"}')] }), /tools\.0\.call: This field is required/],
    [
      "an unknown key kind",
      () => service.createKey({ organization_id: "", environment: "live", kind: unknownTo('"root"') }),
      /kind: Must be/
    ]
  ])("an error reports what is wrong with %s", async (_, call, says) => {
    assert.match((await errorOf(call)).message, says)
  })

  it("readConfig fails for a value that is not a configuration", () => {
    const config = readConfig(unknownTo("null"))
    assert.isTrue(
      Result.isFailure(config) && config.failure.message.includes("such as the one that defineConfig returns")
    )
  })
})
