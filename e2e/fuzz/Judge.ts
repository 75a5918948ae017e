import { ApiError } from "@quotewire/core"
import { Option, Schema } from "effect"
import { Client } from "undici"
import * as Conforms from "../../packages/http/test/support/conforms.ts"
import type { Case } from "./Cases.ts"
import type { Target } from "./Host.ts"
import { marker } from "./Values.ts"

/** Sends cases over one connection and judges their responses. */
export interface Judge {
  /** The problems with the response to a case; empty if there are none. */
  readonly problemsOf: (one: Case) => Promise<ReadonlyArray<string>>
  /** How many times each status was returned, by `operation status`. */
  readonly tally: ReadonlyMap<string, number>
  readonly close: () => Promise<void>
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ApiError.ErrorEnvelope))

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A judge of the responses of a host. */
export const make = (target: Target): Judge => {
  const client = new Client(target.base_url, { pipelining: 1 })
  const conforms = Conforms.make(target.document)
  const tally = new Map<string, number>()
  let sent = 0
  return {
    tally,
    close: () => client.close(),
    problemsOf: async (one) => {
      const unique = `fuzz-${++sent}`
      const fill = (template: string) =>
        template.replace(/@@(\w+)@@/g, (_, name) => (name === "unique" ? unique : (target.known[name] ?? name)))
      const path = fill(one.path)
      const answered = await send(client, one, path, fill)
      const row = `${one.operation} ${answered.status}`
      tally.set(row, (tally.get(row) ?? 0) + 1)
      // If the address or the method is wrong, the document has no entry, so only the envelope is checked.
      const isAddressed = !(one.expect.tag === "refused" && one.expect.codes.includes("not_found"))
      return [
        ...(isAddressed ? conforms({ ...answered, method: one.method, path }) : []),
        ...judge(one, answered, target.base_url)
      ]
    }
  }
}

const send = async (client: Client, one: Case, path: string, fill: (template: string) => string): Promise<Answered> => {
  const query = one.query.map(([name, value]) => `${name}=${fill(value)}`).join("&")
  const body = bodyOf(one.body)
  const response = await client.request({
    method: methodOf(one.method),
    path: query === "" ? path : `${path}?${query}`,
    headers: one.headers.flatMap(([name, value]) => [name, fill(value)]),
    ...(body !== null && { body: fill(body) })
  })
  const headers = new Headers()
  for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value))
  return { status: response.statusCode, headers, text: await response.body.text() }
}

const methodOf = (method: string) => {
  const known = (["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"] as const).find((one) => one === method)
  if (known === undefined) throw new Error(`${method} is no method`)
  return known
}

const bodyOf = (body: Case["body"]): string | null =>
  body === null || typeof body === "string"
    ? body
    : `{${body.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`

const judge = (one: Case, answered: Answered, baseUrl: string): ReadonlyArray<string> => {
  const { status, headers, text } = answered
  const problems: Array<string> = []
  if (status >= 500) problems.push(`the host failed with ${status}: ${text}`)
  if (!/^req_[0-9a-z]{26}$/.test(headers.get("request-id") ?? "")) problems.push("there is no Request-Id")
  if (headers.get("service-version") === null) problems.push("there is no Service-Version")
  if (status >= 400) problems.push(...wrongEnvelope(answered, baseUrl))
  if (problems.length > 0) return problems
  switch (one.expect.tag) {
    case "answered":
      return []
    case "accepted":
      return status < 300 || one.expect.besides.includes(status) ? [] : [`a right call is refused: ${text}`]
    case "refused":
      return status < 400 ? [`a wrong call is taken with ${status}: ${text}`] : wrongRefusal(one.expect, text)
  }
}

const wrongEnvelope = ({ status, headers, text }: Answered, baseUrl: string): ReadonlyArray<string> => {
  const envelope = decode(text)
  if (Option.isNone(envelope)) return [`there is no envelope: ${text}`]
  const { error, request_id } = envelope.value
  // The message may name fields, and a caller can choose the names of unknown fields, but it must not repeat values.
  const named = (error.field_errors ?? []).map(({ path }) => `"${path}"`)
  const shown = [
    named.reduce((message, name) => message.replaceAll(name, "a field"), error.message),
    ...(error.field_errors ?? []).flatMap((one) => [one.message, ...(one.allowed_values ?? [])])
  ]
  return [
    ...(ApiError.definitions[error.code].status === status ? [] : [`${error.code} comes with ${status}`]),
    ...(request_id === headers.get("request-id") ? [] : ["request_id and Request-Id differ"]),
    ...(error.doc_url === `${baseUrl}/docs/v1/errors/${error.code}` ? [] : [`doc_url is ${error.doc_url}`]),
    ...(shown.join().includes(marker) ? [`a refused value is repeated: ${text}`] : []),
    ...(new Set(error.field_errors?.map(({ path }) => path)).size === (error.field_errors?.length ?? 0)
      ? []
      : [`a field is named twice: ${text}`]),
    ...(shown.includes("Must be number.") ? [`a message is too short: ${text}`] : [])
  ]
}

const wrongRefusal = (
  { codes, field }: Extract<Case["expect"], { readonly tag: "refused" }>,
  text: string
): ReadonlyArray<string> => {
  const { error } = Option.getOrThrow(decode(text))
  if (!codes.includes(error.code)) return [`refused with ${error.code}, not with ${codes.join(" or ")}: ${text}`]
  const paths = error.field_errors?.map(({ path }) => path) ?? []
  const isNamed = field === undefined || paths.some((path) => path === field || path.startsWith(`${field}.`))
  return isNamed ? [] : [`the field ${field} is not named: ${text}`]
}
