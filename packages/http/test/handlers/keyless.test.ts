import { assert, describe, it } from "@effect/vitest"
import type { Embedded } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { type WebHandlerOptions, webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { Effect } from "effect"
import { capturedLog, embedded, serving } from "./support.ts"

const host = "https://shop.example"

const call = {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "get_capabilities", arguments: { line: "renters" } }
  })
}

/** An organization of a service. */
const organizationOf = ({ createOrganization }: Pick<Embedded, "createOrganization">) =>
  Effect.promise(async () => (await createOrganization("Shop")).id)

describe("agents without a key", () => {
  it.live("are refused unless the handler's options name an organization for them", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded({ public_url: host })
      const keyless = { organization_id: yield* organizationOf(quotewire) }
      const answersOf = (options: Pick<WebHandlerOptions, "mcp" | "keyless">) =>
        Effect.gen(function* () {
          const address = yield* serving(nodeHandler(quotewire, options))
          const web = webHandler(quotewire, options)
          const answers = [
            yield* Effect.promise(() => fetch(`${address}/v1/mcp`, call)),
            yield* Effect.promise(() => web(new Request(`${host}/v1/mcp`, call)))
          ]
          return yield* Effect.promise(() =>
            Promise.all(answers.map(async (answer) => ({ status: answer.status, text: await answer.text() })))
          )
        })
      for (const { status, text } of yield* answersOf({ mcp, keyless })) {
        assert.strictEqual(status, 200)
        assert.notInclude(text, "authentication_failed")
      }
      for (const { text } of yield* answersOf({ mcp })) assert.include(text, "authentication_failed")
      // REST still needs a key.
      const address = yield* serving(nodeHandler(quotewire, { mcp, keyless }))
      const rest = yield* Effect.promise(() => fetch(`${address}/v1/capabilities?line=renters`))
      assert.strictEqual(rest.status, 401)
    }).pipe(Effect.scoped)
  )

  it.live("are refused with 503 if their organization does not exist, and the log says why", () =>
    Effect.gen(function* () {
      const logged = yield* capturedLog
      const { quotewire } = yield* embedded({ public_url: host })
      const handle = webHandler(quotewire, { mcp, keyless: { organization_id: "org_unknown" } })
      const answer = yield* Effect.promise(() => handle(new Request(`${host}/v1/mcp`, call)))
      assert.strictEqual(answer.status, 503)
      assert.include(logged.join("\n"), "keyless.organization_id must name an organization")
    }).pipe(Effect.scoped)
  )

  it.live("cannot be configured without mcp or with an invalid environment", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const keyless = { organization_id: "org_1" }
      assert.throws(() => nodeHandler(quotewire, { keyless }), /keyless: Needs mcp/)
      // A JavaScript program can pass this.
      const wrong: object = { mcp, keyless: { ...keyless, environment: "test" } }
      assert.throws(() => nodeHandler(quotewire, wrong), /is optional: "sandbox" or "live"/)
    }).pipe(Effect.scoped)
  )
})
