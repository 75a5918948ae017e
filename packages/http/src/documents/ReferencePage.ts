import * as JsonNode from "./JsonNode.ts"
import { type Html, html } from "./Page.ts"

/** The whole reference as one page: every operation and webhook in an OpenAPI document, with fields and examples. */
export const content = (document: JsonNode.Node): Html => {
  const sections = JsonNode.list(document, document, "tags").map((tag) => ({
    name: JsonNode.text(tag, "name"),
    description: JsonNode.text(tag, "description"),
    calls: callsOf(document, "paths").filter(({ call }) => tagsOf(call).includes(JsonNode.text(tag, "name")))
  }))
  return html`<p>${JsonNode.text(JsonNode.at(document, document, "info"), "description")}</p>
<p>The whole contract is in the <a href="openapi.json">OpenAPI document</a>; what can go wrong is in the
<a href="docs/v1/errors">error codes</a>.</p>
<nav><ul>${sections.map(
    ({ name, calls }) =>
      html`<li>${name}: ${calls.map(({ call }) => html`<a href="#${JsonNode.text(call, "operationId")}">${JsonNode.text(call, "summary")}</a> `)}</li>`
  )}</ul></nav>
${sections.map(
  ({ name, description, calls }) =>
    html`<h2>${name}</h2><p>${description}</p>${calls.map((call) => section(document, call))}`
)}
<h2>What is sent to you</h2>
${callsOf(document, "webhooks").map((call) => section(document, call))}`
}

/** One method of one path, or the webhook of one event type. */
interface Call {
  readonly title: string
  readonly call: JsonNode.Node
}

const methods = ["get", "post", "patch", "delete"]

const callsOf = (document: JsonNode.Node, name: "paths" | "webhooks"): ReadonlyArray<Call> =>
  JsonNode.entries(document, document, name).flatMap(([path, item]) =>
    methods
      .filter((method) => method in item)
      .map((method) => ({ title: `${method.toUpperCase()} ${path}`, call: JsonNode.at(document, item, method) }))
  )

const tagsOf = (call: JsonNode.Node): ReadonlyArray<unknown> => (Array.isArray(call.tags) ? call.tags : [])

const section = (document: JsonNode.Node, { title, call }: Call): Html => {
  const body = JsonNode.at(document, call, "requestBody")
  return html`<section id="${JsonNode.text(call, "operationId")}">
<h3>${JsonNode.text(call, "summary")}</h3>
<p><code>${title}</code></p>
<p>${JsonNode.text(call, "description")}</p>
${parameters(JsonNode.list(document, call, "parameters"))}
${media(document, "Body", body)}
<table>
<tr><th>Response</th><th></th></tr>
${JsonNode.entries(document, call, "responses").map(
  ([status, response]) => html`<tr><td>${status}</td><td>${JsonNode.text(response, "description")}</td></tr>`
)}
</table>
${JsonNode.entries(document, call, "responses")
  .filter(([status]) => status.startsWith("2"))
  .map(([status, response]) => media(document, `Response ${status}`, response))}
</section>`
}

const parameters = (parameterNodes: ReadonlyArray<JsonNode.Node>): Html =>
  parameterNodes.length === 0
    ? html``
    : html`<table>
<tr><th>Parameter</th><th>In</th><th></th></tr>
${parameterNodes.map(
  (parameter) =>
    html`<tr><td><code>${JsonNode.text(parameter, "name")}</code>${parameter.required === true ? " (required)" : ""}</td><td>${JsonNode.text(parameter, "in")}</td><td>${JsonNode.text(parameter, "description")}</td></tr>`
)}
</table>`

/** Shows the fields of a body and of each of its alternatives, and its first example. */
const media = (document: JsonNode.Node, title: string, owner: JsonNode.Node): Html => {
  const json = JsonNode.at(document, JsonNode.at(document, owner, "content"), "application/json")
  const schema = JsonNode.at(document, json, "schema")
  const alternatives = JsonNode.list(document, schema, "oneOf")
  const [example] = JsonNode.entries(document, json, "examples")
  if (Object.keys(json).length === 0) return html``
  return html`<details><summary>${title}</summary>
${(alternatives.length === 0 ? [schema] : alternatives).map((alternative) => fields(document, alternative))}
${example === undefined ? html`` : html`<pre tabindex="0">${JSON.stringify(example[1].value, null, 2)}</pre>`}</details>`
}

const fields = (document: JsonNode.Node, schema: JsonNode.Node): Html => {
  const required = schema.required
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  return html`<table>${JsonNode.entries(document, schema, "properties").map(
    ([name, field]) =>
      html`<tr><td><code>${name}</code>${isRequired(name) ? "" : " (optional)"}</td><td>${typeOf(document, field)}</td><td>${JsonNode.text(field, "description")}</td></tr>`
  )}</table>`
}

const typeOf = (document: JsonNode.Node, field: JsonNode.Node): string => {
  const { type, enum: values } = field
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(", ")
  const any = JsonNode.list(document, field, "anyOf")
  if (any.length > 0) return any.map((alternative) => typeOf(document, alternative)).join(" or ")
  return Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : ""
}
