import { ApiError, operations } from "@quotewire/core"
import type { ServiceApi } from "@quotewire/http"
import { Tools } from "@quotewire/mcp"
import { Effect } from "effect"
import type { Answer, Call } from "./Call.ts"
import { operationOf } from "./rest.ts"

const names = new Set(Tools.of<ServiceApi.Services>(operations).map(({ name }) => name))

/** A tool takes as arguments what REST sends outside the body, and some arguments have different names. */
const argumentsOf = (name: string, input: object, more: { readonly read_handle?: string | undefined }, key: string) => {
  const { idempotent, route } = operationOf(name)
  const { id, ...rest }: { readonly id?: unknown } = { ...input }
  return {
    ...rest,
    ...(id !== undefined && { [route.path.startsWith("/v1/event-subscriptions/") ? "subscription_id" : "id"]: id }),
    ...(more.read_handle !== undefined && { read_handle: more.read_handle }),
    ...(idempotent && { request_key: key })
  }
}

/** The HTTP status that REST would return for a tool's response. */
const statusOf = (name: string, isError: boolean, body: Answer["body"]): number =>
  isError
    ? (Object.entries(ApiError.definitions).find(([code]) => code === body.error.code)?.[1].status ?? Number.NaN)
    : operationOf(name).route.status

/** Calls operations through their tools, and those without a tool with `otherwise`. */
export const make = (baseUrl: string, otherwise: Call): Call => {
  let calls = 0
  return (keys, name, input, options = {}) => {
    const key = options.key ?? keys.server
    if (!names.has(name)) return otherwise(keys, name, input, options)
    const args = argumentsOf(name, input, options, options.idempotency_key ?? `tool-${++calls}`)
    return Effect.promise(async (): Promise<Answer> => {
      const response = await fetch(`${baseUrl}/v1/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream"
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: calls, method: "tools/call", params: { name, arguments: args } })
      })
      const { result } = await response.json()
      if (result === undefined) throw new Error(`${name} has come to no result: ${response.status}`)
      const { content, isError, structuredContent } = result
      // First a summary for a model, then the same JSON as text (api.md, Tool results).
      const [summary, same] = content
      if (summary.text === "" || JSON.stringify(JSON.parse(same.text)) !== JSON.stringify(structuredContent)) {
        throw new Error(`${name} tells a model something else than a program: ${JSON.stringify(content)}`)
      }
      // The text is also among the fields, for programs that show a model nothing else.
      const { summary: same_text, ...body } = structuredContent
      if (!isError && same_text !== summary.text) throw new Error(`${name} has no summary: ${JSON.stringify(body)}`)
      return { status: statusOf(name, isError, structuredContent), body }
    })
  }
}
