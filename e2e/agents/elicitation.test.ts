import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Applications } from "@quotewire/core/testing"
import { connect as connectRest } from "@quotewire/http/client"
import { Effect } from "effect"
import { roundRobin } from "./clients.ts"
import { AgentHosts, agentHosts } from "./host.ts"

/** What the person at a program does with each form, and the forms that were shown. */
interface Person {
  readonly shown: Array<{ readonly message: string; readonly fields: ReadonlyArray<string> }>
  readonly answer: (fields: ReadonlyArray<string>) => {
    action: "accept" | "decline"
    content?: Record<string, string | boolean>
  }
}

/** Connects the official client, which shows forms to this person, and sends every request to the next host. */
const connect = Effect.fnUntraced(function* (mode: "auto" | { readonly pin: string }, person: Person) {
  const { base_urls } = yield* AgentHosts
  const { fetch, requests } = roundRobin(base_urls)
  const client = new Client(
    { name: "an-agent", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } }
  )
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const fields = "requestedSchema" in params ? Object.keys(params.requestedSchema.properties) : []
    person.shown.push({ message: params.message, fields })
    return person.answer(fields)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() =>
      client.connect(new StreamableHTTPClientTransport(new URL(`${base_urls[0]}/v1/mcp`), { fetch }))
    ),
    () => Effect.promise(() => client.close())
  )
  const start = (application: object) =>
    Effect.promise(() =>
      client.callTool({
        name: "start_quote_request",
        arguments: { line: "renters", request_key: randomUUID(), application }
      })
    )
  return { start, requests }
})

/** All quote requests of the workspace, as REST lists them. */
const requestsOf = Effect.gen(function* () {
  const { base_urls, keys } = yield* AgentHosts
  const rest = connectRest({ base_url: base_urls[0], key: keys.server })
  return (yield* Effect.promise(() => rest.list_quote_requests({}))).quote_requests
})

const { dwelling } = Applications.smallest.renters

layer(agentHosts({ hosts: 2 }), { excludeTestServices: true })(
  "an official client that shows forms, between two hosts",
  (it) => {
    it.effect.each(["auto", { pin: "2026-07-28" }] as const)(
      "asks for facts and the agreement, each answered by another host: %s",
      (mode) =>
        Effect.gen(function* () {
          const shown: Person["shown"] = []
          const { requests, start } = yield* connect(mode, {
            shown,
            answer: (fields) => ({
              action: "accept",
              content: fields.includes("agree") ? { agree: true } : { "dwelling.type": dwelling.type }
            })
          })
          const before = [...requests]
          const started = yield* start({ dwelling: { address: dwelling.address } })
          assert.isFalse(started.isError, JSON.stringify(started))
          assert.deepNestedInclude(started, { "structuredContent.quote_consent.kind": "quote_disclosure" })
          assert.deepStrictEqual(
            shown.map(({ fields }) => fields),
            [["dwelling.type"], ["agree"]]
          )
          assert.deepStrictEqual(requests.map((count, index) => count - (before[index] ?? 0)).sort(), [1, 2])
        })
    )

    it.effect("starts nothing if the person says no", () =>
      Effect.gen(function* () {
        const shown: Person["shown"] = []
        const { start } = yield* connect("auto", { shown, answer: () => ({ action: "decline" }) })
        const before = yield* requestsOf
        const refused = yield* start(Applications.smallest.renters)
        assert.isTrue(refused.isError)
        assert.deepNestedInclude(refused, { "structuredContent.error.code": "invalid_input" })
        assert.deepStrictEqual(
          shown.map(({ fields }) => fields),
          [["agree"]]
        )
        assert.deepStrictEqual(yield* requestsOf, before)
      })
    )
  }
)
