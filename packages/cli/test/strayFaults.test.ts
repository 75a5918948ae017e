import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { host } from "./support/program.ts"

/* What happens to a host whose carrier causes errors that no code awaits. */

const nodeModules = fileURLToPath(new URL("../../../node_modules", import.meta.url))

/** A carrier that declines, and whose code keeps running afterwards. */
const configuration = (after: string) => `
import { defineCarrier, defineConfig, Reply } from "@quotewire/core"
const lines = { renters: { states: ["NY"] } }
const ask = ({ facts }) => {
  const fail = () => new TypeError("cannot price " + facts.dwelling.address.zip)
  ${after}
  return Reply.decline("risk_outside_guidelines")
}
export default defineConfig({ carriers: [defineCarrier({ id: "naic:12345", name: "Acme", lines, ask })], fictional_carriers: false })
`

const folder = (after: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const path = await mkdtemp(join(tmpdir(), "quotewire-stray-"))
      await symlink(nodeModules, join(path, "node_modules"))
      await writeFile(join(path, "quotewire.config.mjs"), configuration(after))
      return path
    }),
    (path) => Effect.promise(() => rm(path, { recursive: true }))
  )

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
const start = { line: "renters", consent_receipt_id: "receipt-0001", request_key: "first", application }

/** Starts a request on a host, and returns a way to read it. */
const asked = Effect.fnUntraced(function* (after: string) {
  const running = yield* host(["dev", "--port", "0", "--json"], {}, yield* folder(after))
  let log = ""
  running.child.stderr.on("data", (bytes) => {
    log += bytes
  })
  const { base_url, keys } = JSON.parse(running.output())
  const send = (path: string, init: RequestInit = {}) =>
    Effect.promise(async () => {
      const headers = { authorization: `Bearer ${keys.server}`, "content-type": "application/json" }
      const response = await fetch(`${base_url}${path}`, { ...init, headers })
      return response.json()
    })
  const { id } = yield* send("/v1/quote-requests", { method: "POST", body: JSON.stringify(start) })
  return { ended: running.ended, log: () => log, read: send(`/v1/quote-requests/${id}?wait_seconds=20`) }
})

describe("a host", () => {
  it.live("keeps running after an unhandled rejection in carrier code, and does not log the error's message", () =>
    Effect.gen(function* () {
      const { log, read } = yield* asked("void Promise.reject(fail())")
      let { quote_request } = yield* read
      while (quote_request.status === "in_progress") quote_request = (yield* read).quote_request
      assert.strictEqual(quote_request.carriers[0].outcome, "declined")
      assert.match(log(), /Unhandled promise rejection.*TypeError.*quotewire\.config\.mjs:\d+/)
      assert.notInclude(log(), "10001")
    })
  )

  it.live("exits if carrier code throws outside any call, and does not log the error's message", () =>
    Effect.gen(function* () {
      const { ended } = yield* asked("setTimeout(() => { throw fail() }, 0)")
      const { code, stderr } = yield* Effect.promise(() => ended)
      assert.strictEqual(code, 1)
      assert.match(stderr, /Uncaught error outside any call.*TypeError.*quotewire\.config\.mjs:\d+/)
      assert.notInclude(stderr, "10001")
    })
  )
})
