import { assert, describe, it } from "@effect/vitest"
import { type ApiError, Feedback, type OperationServices, operations, RequestLog } from "@quotewire/core"
import { Tools } from "@quotewire/mcp"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, type Sent, toolsCall } from "./support/agents.ts"

const everyone = ["get_capabilities", "start_quote_request", "get_quote_request", "get_quote", "send_feedback"]
const all = [
  ...["get_capabilities", "start_quote_request", "get_quote_request", "list_quote_requests", "get_quote"],
  ...["send_feedback", "list_api_requests", "send_test_event", "list_event_deliveries", "get_event_delivery"],
  ...["replay_event_delivery", "get_event_subscription_health"]
]
const present = (names: ReadonlyArray<string>) => names.filter((name) => operations.some((one) => one.name === name))

const list = Effect.fnUntraced(function* (as?: Sent["as"]) {
  const agents = yield* Agents
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" }
  const { body } = yield* agents.send({ message, ...(as !== undefined && { as }) })
  return body.result.tools
})
const namesOf = (tools: ReadonlyArray<{ readonly name: string }>) => tools.map(({ name }) => name)
const call = (name: string, args: unknown, as?: Sent["as"]) =>
  Effect.flatMap(Agents, (agents) => agents.call(name, args, as))

/** The wrong fields of a refusal, each with its message. */
const wrongOf = (result: { readonly structuredContent: ApiError.ErrorEnvelope }): ReadonlyArray<string> =>
  (result.structuredContent.error.field_errors ?? []).map(({ path, message }) => `${path}: ${message}`)

const flat = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
const withReceipt = { line: "renters", request_key: "k-1", consent_receipt_id: "receipt-0001", application: flat }

describe("the MCP tools", () => {
  it.effect("include only tools that the caller may call, in a fixed order", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(namesOf(yield* list("server")), present(all))
      for (const as of ["widget", "platform", undefined] as const) {
        assert.sameOrderedMembers(namesOf(yield* list(as)), present(all.filter((name) => everyone.includes(name))))
      }
    }).pipe(Effect.provide(layer()))
  )

  it("have their operations' names", () => {
    assert.deepStrictEqual(
      Tools.of<OperationServices>(operations).map(({ name }) => name),
      present(all)
    )
  })

  it.effect("exclude operations that the host omits, both from the list and from calls", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(namesOf(yield* list("server")), ["get_capabilities"])
      const agents = yield* Agents
      const { body } = yield* agents.send({ as: "server", message: toolsCall("get_quote", { id: "qt_x" }) })
      assert.strictEqual(body.error.code, -32602)
    }).pipe(Effect.provide(layer({ operations: operations.filter(({ name }) => name === "get_capabilities") })))
  )

  it.effect("do not include the request log or feedback if they are off", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      for (const name of ["list_api_requests", "send_feedback"]) {
        assert.notInclude(namesOf(yield* list("server")), name)
        const { body } = yield* agents.send({ as: "server", message: toolsCall(name) })
        assert.strictEqual(body.error.code, -32602)
      }
    }).pipe(
      Effect.provide(layer()),
      Effect.provideService(RequestLog.RequestLogEnabled, false),
      Effect.provideService(Feedback.FeedbackEnabled, false)
    )
  )

  it.effect("accept a feedback report from every caller", () =>
    Effect.gen(function* () {
      const report = { kind: "unclear_error", summary: "A code", expected: "a sentence", actual: "a number" }
      for (const as of ["server", "platform", undefined] as const) {
        const taken = yield* call("send_feedback", { ...report, agent: { name: "an-agent" } }, as)
        assert.deepStrictEqual([taken.isError, taken.structuredContent.status], [false, "received"])
        assert.include(taken.content[0].text, taken.structuredContent.feedback_id)
      }
      const refused = yield* call("send_feedback", { ...report, actual: "4242 4242 4242 4242" }, "server")
      assert.deepStrictEqual(
        [refused.structuredContent.error.code, refused.structuredContent.error.field_errors[0].path],
        ["invalid_input", "actual"]
      )
      assert.notInclude(JSON.stringify(refused), "4242")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("have a title, hints, and descriptions of the tool and of every argument", () =>
    Effect.gen(function* () {
      for (const as of ["server", "platform", undefined] as const) {
        for (const tool of yield* list(as)) {
          assert.isNotEmpty(tool.title, tool.name)
          assert.isAbove(tool.description.length, 80, tool.name)
          assert.hasAllKeys(tool.annotations, ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])
          const { properties, required } = tool.inputSchema
          assert.includeMembers(Object.keys(properties), required, tool.name)
          for (const [name, schema] of Object.entries<{ description?: string }>(properties)) {
            assert.isNotEmpty(schema.description, `${tool.name} ${name}`)
          }
        }
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("have a short result schema, and an input schema without lists of types", () =>
    Effect.gen(function* () {
      for (const { inputSchema, name, outputSchema } of yield* list("server")) {
        assert.deepStrictEqual(outputSchema, { type: "object", properties: { summary: { type: "string" } } }, name)
        assert.notMatch(JSON.stringify(inputSchema), /"type":\[/, name)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("require a consent receipt, or accepted disclosures from callers without a key", () =>
    Effect.gen(function* () {
      const startOf = Effect.fnUntraced(function* (as?: Sent["as"]) {
        const tool = (yield* list(as)).find(({ name }: { name: string }) => name === "start_quote_request")
        return { properties: Object.keys(tool.inputSchema.properties), required: tool.inputSchema.required }
      })
      for (const as of ["server", "platform", "widget"] as const) {
        const { properties, required } = yield* startOf(as)
        assert.include(required, "consent_receipt_id")
        assert.notInclude(properties, "quote_disclosure_accepted")
      }
      const { properties, required } = yield* startOf()
      assert.includeMembers(required, ["quote_disclosure_version", "quote_disclosure_accepted"])
      assert.notInclude(properties, "consent_receipt_id")
      assert.notInclude(properties, "contact_consent")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("require the read handle from every caller without a server key", () =>
    Effect.gen(function* () {
      for (const [as, isWanted] of [
        ["server", false],
        ["platform", true],
        ["widget", true],
        [undefined, true]
      ] as const) {
        const tools = yield* list(as)
        for (const name of ["get_quote_request", "get_quote"]) {
          const { required } = tools.find((tool: { name: string }) => tool.name === name).inputSchema
          assert.strictEqual(required.includes("read_handle"), isWanted, `${as} ${name}`)
        }
      }
    }).pipe(Effect.provide(layer()))
  )
})

describe("a tool's arguments", () => {
  it.effect("are reported under the tool's own names if they are invalid", () =>
    Effect.gen(function* () {
      const refused = yield* call("send_test_event", { id: "sub_x", request_key: 7 }, "server")
      assert.isTrue(refused.isError)
      assert.sameMembers([...wrongOf(refused)], ["id: This field is not known.", "request_key: Must be a string."])
      assert.sameMembers(
        [...wrongOf(yield* call("replay_event_delivery", {}, "server"))],
        [
          "request_key: Send this field with 1 to 255 visible ASCII characters.",
          "subscription_id: This field is required.",
          "event_id: This field is required."
        ]
      )
      const wrongPage = yield* call("list_event_deliveries", { subscription_id: 1, limit: 0, foo: 1 }, "server")
      assert.sameMembers(
        wrongOf(wrongPage).map((line) => line.split(":")[0]),
        ["subscription_id", "limit", "foo"]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are refused without being repeated if their types are wrong", () =>
    Effect.gen(function* () {
      const args = { id: 5, wait_seconds: "long-secret", since_version: -1, read_handle: true, cursor: null }
      const refused = yield* call("get_quote_request", args, "server")
      assert.strictEqual(refused.structuredContent.error.code, "invalid_input")
      assert.notInclude(JSON.stringify(refused), "long-secret")
      const { body } = yield* Effect.flatMap(Agents, (agents) =>
        agents.send({ as: "server", message: toolsCall("get_quote_request", { id: "x", text: "a\u0000b" }) })
      )
      assert.strictEqual(body.result.structuredContent.error.code, "invalid_input")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are refused as forbidden if the caller lacks authority, whatever they contain", () =>
    Effect.gen(function* () {
      for (const as of ["platform", "widget", undefined] as const) {
        const refused = yield* call("list_quote_requests", { nonsense: 1 }, as)
        assert.deepStrictEqual([refused.isError, refused.structuredContent.error.code], [true, "forbidden"])
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are accepted under an old name until the end date of a rename", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2027-03-31T23:59:59Z")))
      const before = yield* call("get_capabilities", { insurance_line: "renters" }, "server")
      assert.strictEqual(before.structuredContent.capabilities.line, "renters")
      const both = yield* call("get_capabilities", { insurance_line: "renters", line: "pet" }, "server")
      assert.deepStrictEqual(wrongOf(both), ["insurance_line: This field is now called line."])
      yield* TestClock.adjust(1_000)
      const after = yield* call("get_capabilities", { insurance_line: "renters" }, "server")
      assert.deepStrictEqual(wrongOf(after), ["insurance_line: This field is now called line."])
      assert.isFalse((yield* call("get_capabilities", { line: "renters" }, "server")).isError)
    }).pipe(
      Effect.provide(
        layer({
          renamed: [
            {
              tool: "get_capabilities",
              from: "insurance_line",
              to: "line",
              until: DateTime.toEpochMillis(DateTime.makeUnsafe("2027-04-01T00:00:00Z"))
            }
          ]
        })
      )
    )
  )
})

describe("the text of a tool result", () => {
  it.effect("tells a model in a few lines what happened and what to do next", () =>
    Effect.gen(function* () {
      const { content, structuredContent } = yield* call("start_quote_request", withReceipt, "platform")
      assert.strictEqual(content.length, 2)
      const { id, read_handle } = structuredContent
      assert.include(content[0].text, id)
      assert.include(content[0].text, "get_quote_request")
      assert.include(content[0].text, "Keep the read_handle")
      assert.notInclude(content[0].text, read_handle)
      assert.isAtMost(content[0].text.split("\n").length, 6)
      for (const fact of ["10001", "apartment"]) assert.notInclude(content[0].text, fact)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("lists missing facts and tells the model to ask the person", () =>
    Effect.gen(function* () {
      const args = { ...withReceipt, application: { dwelling: { type: "apartment" } } }
      const { content, isError, structuredContent } = yield* call("start_quote_request", args, "server")
      assert.deepStrictEqual([isError, structuredContent.error.code], [true, "needs_information"])
      assert.include(content[0].text, "application.dwelling.address")
      assert.include(content[0].text, "Ask the person")
    }).pipe(Effect.provide(layer()))
  )
})
