import { Json } from "@quotewire/core"
import type { Tool } from "@quotewire/mcp"
import { Effect } from "effect"

/* The tools by whose names the official conformance suite calls. No host of ours has them but those of the tests. */

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

export const conformanceTools: ReadonlyArray<Tool.Tool> = [
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
