import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { ExampleApplications } from "@quotewire/core/testing"
import { connect as connectRest } from "@quotewire/http/client"
import { Effect } from "effect"
import { methodsOf, roundRobin } from "./clients.ts"
import { AgentHosts, agentHosts } from "./host.ts"

/** What the person does with each form, and the forms that were shown. */
interface Person {
  readonly shown: Array<{ readonly message: string; readonly fields: ReadonlyArray<string> }>
  readonly answer: (fields: ReadonlyArray<string>) => {
    action: "accept" | "decline"
    content?: Record<string, string | boolean>
  }
}

const info = { name: "an-agent", version: "1" }

/** Shows the person a form, and returns the answer. */
const ask = ({ answer, shown }: Person, { message, ...params }: { readonly message: string }) => {
  const { requestedSchema } = { requestedSchema: { properties: {} }, ...params }
  const fields = Object.keys(requestedSchema.properties)
  shown.push({ message, fields })
  return answer(fields)
}

type Fetch = ReturnType<typeof roundRobin>["fetch"]

const newer =
  (mode: "auto" | "legacy" | { readonly pin: string }) => async (url: URL, fetch: Fetch, person: Person) => {
    const client = new Client(info, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } })
    client.setRequestHandler("elicitation/create", async ({ params }) => ask(person, params))
    await client.connect(new StreamableHTTPClientTransport(url, { fetch }))
    return methodsOf(client)
  }

const older = async (url: URL, fetch: Fetch, person: Person) => {
  const client = new OlderClient(info, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ask(person, params))
  await client.connect(new OlderTransport(url, { fetch }))
  return methodsOf(client)
}

/** The official clients. With a handshake, the answer to a form is a separate request. */
const programs = {
  "2.4.0, auto": newer("auto"),
  "2.4.0, pinned": newer({ pin: "2026-07-28" }),
  "2.4.0, with a handshake": newer("legacy"),
  "1.32.2, with a handshake": older
} as const
const names = ["2.4.0, auto", "2.4.0, pinned", "2.4.0, with a handshake", "1.32.2, with a handshake"] as const

/** Connects an official client, which shows forms to this person, and sends every message to the next host. */
const connect = Effect.fnUntraced(function* (program: (typeof names)[number], person: Person) {
  const { base_urls } = yield* AgentHosts
  const { fetch: fetchNext, requests } = roundRobin(base_urls)
  // A client with a handshake also requests a stream, at any time. It gets none, and that must not change which host is
  // next.
  const fetchFrom: Fetch = (url, init) => (init?.method === "GET" ? fetch(url, init) : fetchNext(url, init))
  const client = yield* Effect.acquireRelease(
    Effect.promise(() => programs[program](new URL(`${base_urls[0]}/v1/mcp`), fetchFrom, person)),
    ({ close }) => Effect.promise(close)
  )
  const start = (application: object) =>
    Effect.promise(async () => ({
      isError: false,
      ...(await client.call("start_quote_request", { line: "renters", request_key: randomUUID(), application }))
    }))
  return { start, requests }
})

/** The ids of all quote requests of the workspace. The other fields in the list change as time passes. */
const requestsOf = Effect.gen(function* () {
  const { base_urls, keys } = yield* AgentHosts
  const rest = connectRest({ base_url: base_urls[0], key: keys.server })
  const { quote_requests } = yield* Effect.promise(() => rest.list_quote_requests({ limit: 100 }))
  return quote_requests.map(({ id }) => id)
})

const { dwelling } = ExampleApplications.smallest.renters

layer(agentHosts({ hosts: 2 }), { excludeTestServices: true })(
  "official MCP clients that show forms and alternate between two hosts",
  (it) => {
    it.effect.each(names)(
      "a client asks the person for facts and consent, and sends each answer to a different host: %s",
      (program) =>
        Effect.gen(function* () {
          const shown: Person["shown"] = []
          const { requests, start } = yield* connect(program, {
            shown,
            answer: (fields) => ({
              action: "accept",
              content: fields.includes("agree") ? { agree: true } : { "dwelling.type": dwelling.type }
            })
          })
          const before = [...requests]
          const started = yield* start({ dwelling: { address: dwelling.address } })
          assert.isFalse(started.isError, JSON.stringify(started))
          assert.deepNestedInclude(started, {
            "structuredContent.quote_consent.kind": "quote_disclosure",
            "structuredContent.quote_consent.asked_by": "elicitation"
          })
          assert.deepStrictEqual(
            shown.map(({ fields }) => fields),
            [["dwelling.type"], ["agree"]]
          )
          assert.deepStrictEqual(requests.map((count, index) => count - (before[index] ?? 0)).sort(), [1, 2])
        })
    )

    it.effect.each(names)("a client starts no quote request if the person declines: %s", (program) =>
      Effect.gen(function* () {
        const shown: Person["shown"] = []
        const { start } = yield* connect(program, { shown, answer: () => ({ action: "decline" }) })
        const before = yield* requestsOf
        const refused = yield* start(ExampleApplications.smallest.renters)
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
