import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { CarrierAdapter } from "../../src/carriers/Carrier.ts"
import { type Config, defineConfig } from "../../src/config/Config.ts"
import { readConfig } from "../../src/config/ConfigRules.ts"
import { renters as rating } from "../../src/rating/renters/rating.ts"
import { prompt } from "../quoting/carriers.ts"

const acme = prompt("naic:12345").adapter
const borealis = prompt("naic:23456").adapter

/** The message about an unusable configuration. */
const faultsOf = (config: unknown): string =>
  Result.match(readConfig(config), { onSuccess: () => "", onFailure: ({ message }) => message })

const linesOf = (changes: object): CarrierAdapter["lines"] =>
  Object.fromEntries(Object.entries(acme.lines).map(([name, line]) => [name, { ...line, ...changes }]))

describe("a configuration", () => {
  const valid: ReadonlyArray<Config> = [
    {},
    { carriers: [] },
    { carriers: [acme, borealis] },
    { carriers: [acme], fictional_carriers: false },
    { ratings: [rating] }
  ]
  it.each(valid)("is returned unchanged if it is valid", (config) => {
    assert.deepStrictEqual(readConfig(defineConfig(config)), Result.succeed(config))
  })

  it("may contain undefined options, and carriers that are class instances", () => {
    class Acme implements CarrierAdapter {
      readonly carrier = acme.carrier
      readonly environments = acme.environments
      readonly lines = acme.lines
      readonly handoff_hosts = acme.handoff_hosts
      ask(ask: Parameters<CarrierAdapter["ask"]>[0]) {
        return acme.ask(ask)
      }
    }
    assert.strictEqual(faultsOf({ carriers: [new Acme()], fictional_carriers: undefined }), "")
  })

  it.each([
    { given: undefined },
    { given: null },
    { given: "quotes" },
    { given: [acme] },
    { given: () => ({ carriers: [acme] }) }
  ])("must be an object: $given", ({ given }) => {
    assert.strictEqual(
      faultsOf(given),
      "The configuration is not valid: Must be an object, such as the one that defineConfig returns."
    )
  })

  it.each([
    { given: { carrierz: [] }, says: "carrierz: There is no such option. The options are " },
    { given: { ratings: [rating, {}] }, says: "ratings.1: Must be a rating that Rating.make returned." },
    { given: { ratings: [rating, rating] }, says: "ratings.1.line: Must differ from ratings.0.line." },
    { given: { ratings: [{ ...rating, line: { name: "violin" } }] }, says: "ratings.0.line: Must be listed in lines." },
    {
      given: { carriers: [{ ...acme, lines: { violin: acme.lines.renters } }] },
      says: "carriers.0.lines.violin: Must be one of personal_auto, renters, pet. If the line is your own, list it in the `lines` option."
    },
    { given: { carriers: acme }, says: "carriers: Must be a list of carriers." },
    { given: { fictional_carriers: "no" }, says: "fictional_carriers: Must be true or false." },
    {
      given: { carrier_transport: fetch },
      says: "carrier_transport: Must be a layer, such as CarrierTransports.layer()."
    },
    { given: { exchange_recording: "all" }, says: "exchange_recording: Must be an object." },
    {
      given: { exchange_recording: { live: "some" } },
      says: "exchange_recording.live: Must be one of the allowed values. Allowed: all, failures, none."
    },
    { given: { revisions: [] }, says: "revisions: Must have at least one revision." },
    { given: { revisions: [{ date: "2027-01-15" }] }, says: "revisions.0.differences: " },
    {
      given: { revisions: [{ date: "15 January", differences: [] }] },
      says: "revisions.0.date: Must be a date, such as 2026-09-26."
    },
    {
      given: { revisions: ["2026-09-26", "2027-01-15"].map((date) => ({ date, differences: [] })) },
      says: "revisions.1.date: Must be earlier than the date of the previous revision in the list: list the newest revision first."
    },
    {
      given: { revisions: [{ date: "2027-01-15", differences: [{ summary: "Renamed." }] }] },
      says: "revisions.0.differences: Must be empty, because the newest revision is the form that this release serves."
    },
    { given: { exchanges_days: 0 }, says: "exchanges_days: Must be " },
    { given: { on_carrier_exchange: "log" }, says: "on_carrier_exchange: Must be a function." },
    { given: { carriers: [undefined] }, says: "carriers.0: Must be an object." },
    { given: { carriers: [acme, "acme"] }, says: "carriers.1: Must be an object." },
    { given: { carriers: [{ ...acme, ask: "https://acme.example" }] }, says: "carriers.0.ask: Must be a function." },
    { given: { carriers: [{ ...acme, poll: 1 }] }, says: "carriers.0.poll: Must be a function." },
    { given: { carriers: [{ ...acme, carrier: { id: 1 } }] }, says: "carriers.0.carrier.id: Must be text." },
    {
      given: { carriers: [{ ...acme, lines: ["renters"] }] },
      says: "carriers.0.lines: Must be an object with at least one line."
    },
    {
      given: { carriers: [{ ...acme, lines: null }] },
      says: "carriers.0.lines: Must be an object with at least one line."
    },
    {
      given: { carriers: [{ ...acme, lines: { renters: null } }] },
      says: "carriers.0.lines.renters: Must be an object."
    },
    {
      given: { carriers: [{ ...acme, environments: ["production"] }] },
      says: "carriers.0.environments.0: Must be one of sandbox, live."
    },
    {
      given: { carriers: [{ ...acme, lines: linesOf({ states: ["NY", "TX", "ZZ"] }) }] },
      says: "carriers.0.lines.renters.states.2: Must be a USPS state code or DC, such as NY."
    },
    {
      given: { carriers: [{ ...acme, carrier: { ...acme.carrier, id: "sbx_pinecrest" } }] },
      says: "carriers.0.carrier.id: Is the id of a fictional carrier; choose a different one."
    },
    {
      given: { carriers: [acme, borealis, acme] },
      says: "carriers.2.carrier.id: Must differ from carriers.0.carrier.id."
    }
  ])("is rejected with the path of its fault: $says", ({ given, says }) => {
    assert.include(faultsOf(given), says)
  })

  it("is rejected with one message that lists every fault without its value", () => {
    const secret = "sk_live_Zq7x"
    const wrong = { ...acme, handoff_hosts: secret, ask: undefined }
    assert.deepStrictEqual(
      faultsOf({ carriers: [wrong, borealis, borealis], fictional_carriers: secret }).split("\n"),
      [
        "The configuration is not valid:",
        "  carriers.0.handoff_hosts: Must be a list.",
        "  carriers.0.ask: Must be a function.",
        "  carriers.2.carrier.id: Must differ from carriers.1.carrier.id.",
        "  fictional_carriers: Must be true or false."
      ]
    )
  })

  describe("sandbox_connections", () => {
    const connected = { ...acme, connection: { producer_code: "string", api_key: "secret" } } as const
    const inLive: CarrierAdapter = { ...borealis, environments: ["live"], connection: { api_key: "secret" } }
    const values = { producer_code: "P-1", api_key: "Zq7xSecretZq7x" }
    const withConnection = (sandbox_connections: unknown) => ({
      carriers: [connected, inLive, prompt("naic:34567").adapter],
      sandbox_connections
    })

    it.each([
      { given: {} },
      { given: { "naic:12345": values } },
      // An unset variable.
      { given: { "naic:12345": { ...values, api_key: undefined } } }
    ])("are accepted if they are valid: $given", ({ given }) => {
      assert.strictEqual(faultsOf(withConnection(given)), "")
    })

    it("are not checked while a carrier is invalid", () => {
      const faults = faultsOf({ carriers: [{ ...connected, ask: 1 }], sandbox_connections: { "naic:12345": values } })
      assert.strictEqual(faults, "The configuration is not valid: carriers.0.ask: Must be a function.")
    })

    it.each([
      { given: [values], says: ": Must be an object." },
      { given: { "naic:12345": "Zq7x" }, says: ".naic:12345: Must be an object." },
      {
        given: { "naic:12345": { ...values, api_key: "" } },
        says: ".naic:12345.api_key: Must be text of 1 to 8192 characters."
      },
      {
        given: { "naic:12345": { ...values, api_key: 1 } },
        says: ".naic:12345.api_key: Must be text of 1 to 8192 characters."
      },
      { given: { "naic:12345": { producer_code: "P-1" } }, says: ".naic:12345.api_key: This field is required." },
      {
        given: { "naic:12345": { ...values, Zq7x: "1" } },
        says: ".naic:12345: Every name must be a field of the carrier's connection. Allowed: producer_code, api_key."
      },
      {
        given: { "naic:99999": values },
        says: ".naic:99999: Must be the id of one of this program's carriers. Allowed: naic:12345, naic:23456."
      },
      {
        given: { "naic:34567": values },
        says: ".naic:34567: This carrier needs no connection. Allowed: naic:12345, naic:23456."
      },
      {
        given: { "naic:23456": { api_key: "Zq7x" } },
        says: ".naic:23456: The carrier is not asked in this environment. Allowed: live."
      }
    ])("are rejected with their path and without any value: $says", ({ given, says }) => {
      const faults = faultsOf(withConnection(given))
      assert.strictEqual(faults, `The configuration is not valid: sandbox_connections${says}`)
      assert.notInclude(faults, "Zq7x")
    })
  })

  it("is rejected with a list of at most a hundred faults and a count of the rest", () => {
    const lines = faultsOf({ carriers: Array.from({ length: 150 }, () => null) }).split("\n")
    assert.lengthOf(lines, 102)
    assert.strictEqual(lines.at(-1), "  … and 50 more errors.")
  })
})
