import { Json } from "@quotewire/core"
import type { Tool } from "@quotewire/mcp"
import { Effect, Equal } from "effect"

/* The tools that the official conformance suite calls by name. Only test hosts have them. */

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

const text = (words: string) => ({ type: "text", text: words })
const image = { type: "image", data: png, mimeType: "image/png" }
const resource = (uri: string, mimeType: string, words: string) => ({
  type: "resource",
  resource: { uri, mimeType, text: words }
})

const noArguments: Tool.Listed["inputSchema"] = { type: "object", properties: {}, additionalProperties: false }

const tool = (
  name: string,
  content: ReadonlyArray<Tool.Content>,
  isError = false,
  inputSchema: Tool.Listed["inputSchema"] = noArguments
): Tool.Tool => ({
  name,
  isOffered: Effect.succeed(true),
  list: () => ({ name, description: "For the conformance suite.", inputSchema }),
  call: () => Effect.succeed({ content: Json.encode(content), isError })
})

const dialect: Tool.Listed["inputSchema"] = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } }
    }
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" }
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false
}

type Question = Exclude<Effect.Success<ReturnType<Tool.Tool["call"]>>, Tool.ToolResult>

/**
 * A tool that asks the person questions, one after the other, and then answers. An unanswered question is asked again.
 */
const asking = (name: string, questions: ReadonlyArray<Omit<Question, "state">>): Tool.Tool => ({
  ...tool(name, []),
  call: ({ round }) => {
    const told = (words: string, isError: boolean) => Effect.succeed({ content: Json.encode([text(words)]), isError })
    if (round === undefined) return told("No form can be shown.", true)
    const asked = questions.findIndex((candidate) => Equal.equals(round.state, { asked: candidate.name }))
    const next = questions[round.answer?.action === "accept" ? asked + 1 : Math.max(asked, 0)]
    return next === undefined ? told("state-ok", false) : Effect.succeed({ ...next, state: { asked: next.name } })
  }
})

/** A question in a form with one field. */
const question = (
  name: string,
  message: string,
  field: string,
  type: "string" | "boolean"
): Omit<Question, "state"> => {
  const properties = { [field]: { type, title: field } }
  return { name, form: { message, requestedSchema: { type: "object", properties, required: [field] } } }
}

const askName = question("user_name", "What is your name?", "name", "string")
const askConsent = question("confirm", "Do you agree?", "ok", "boolean")

/** A tool that reports its progress, and then returns. */
const reporting: Tool.Tool = {
  ...tool("test_tool_with_progress", []),
  call: ({ progress = () => Effect.void }) =>
    Effect.as(
      Effect.forEach([0, 50, 100], (seconds) => progress(seconds, `${seconds} of 100`)),
      { content: Json.encode([text("The work is done.")]), isError: false }
    )
}

export const conformanceTools: ReadonlyArray<Tool.Tool> = [
  reporting,
  asking("test_elicitation", [question("user", "Please provide your information", "username", "string")]),
  asking("test_input_required_result_elicitation", [askName]),
  asking("test_input_required_result_request_state", [askConsent]),
  asking("test_input_required_result_tampered_state", [askConsent]),
  asking("test_streaming_elicitation", [askName]),
  asking("test_input_required_result_multi_round", [
    askName,
    question("color", "Which color do you like?", "color", "string")
  ]),
  tool("test_logging_tool", [text("The service writes no log messages.")]),
  tool("test_simple_text", [text("This is a simple text response for testing.")]),
  tool("test_image_content", [image]),
  tool("test_audio_content", [{ type: "audio", data: wav, mimeType: "audio/wav" }]),
  tool("test_embedded_resource", [
    resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
  ]),
  tool("test_multiple_content_types", [
    text("Multiple content types test:"),
    image,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
  ]),
  tool("test_error_handling", [text("This tool intentionally returns an error for testing")], true),
  tool("json_schema_2020_12_tool", [text("The arguments were taken.")], false, dialect)
]
