import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { host } from "./support/program.ts"
import { secret } from "./support/sandbox.config.ts"

const config = fileURLToPath(new URL("support/sandbox.config.ts", import.meta.url))
const args = ["--port", "0", "--json", "--config", config]

/** Stops a host, and returns its standard error. */
const saidBy = ({ child, ended }: Effect.Success<ReturnType<typeof host>>) =>
  Effect.promise(async () => {
    child.kill("SIGTERM")
    return (await ended).stderr
  })

interface CarrierResult {
  readonly carrier: { readonly id: string }
  readonly outcome: string
  readonly reason: string
}

describe("the connections of the in-memory sandbox", () => {
  it.live("come from the configuration, and only carriers with a connection are asked", () =>
    Effect.gen(function* () {
      const ready = yield* host(["dev", ...args])
      const { base_url, keys } = JSON.parse(ready.output())
      const carriers = yield* Effect.promise(async (): Promise<ReadonlyArray<CarrierResult>> => {
        const headers = { authorization: `Bearer ${keys.server}`, "content-type": "application/json" }
        const body = JSON.stringify({
          line: "renters",
          consent_receipt_id: "receipt-0001",
          request_key: "first",
          application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
        })
        let request = await (await fetch(`${base_url}/v1/quote-requests`, { method: "POST", headers, body })).json()
        while (request.status === "in_progress") {
          const url = `${base_url}/v1/quote-requests/${request.id}?since_version=${request.version}`
          request = (await (await fetch(url, { headers })).json()).quote_request
        }
        return request.carriers
      })
      assert.deepStrictEqual(
        carriers.map(({ carrier, outcome, reason }) => `${carrier.id} ${outcome} ${reason}`).toSorted(),
        ["naic:12345 declined prior_claims", "naic:23456 not_asked not_appointed", "naic:34567 not_asked not_appointed"]
      )
      assert.notInclude(yield* saidBy(ready), secret)
    })
  )

  it.live.each(["dev", "mcp"])("cause a warning for each carrier that lacks a connection: quotewire %s", (command) =>
    Effect.gen(function* () {
      const said = yield* saidBy(yield* host([command, ...(command === "mcp" ? ["--http"] : []), ...args]))
      const warned = said.split("\n").flatMap((line) => line.match(/carrier_id=(\S+) missing=api_key/)?.[1] ?? [])
      assert.deepStrictEqual(warned, ["naic:23456", "naic:34567"])
      assert.match(said, /level=WARN .*sandbox_connections/)
    })
  )
})
