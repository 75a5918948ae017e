import { operations } from "@quotewire/core"
import { OpenApi } from "@quotewire/http"
import { Effect } from "effect"
import * as Conforms from "../../packages/http/test/support/conforms.ts"
import type { Answer, Call } from "./Call.ts"

/** The operation with this name. */
export const operationOf = (name: string) => {
  const operation = operations.find((one) => one.name === name)
  if (operation === undefined) throw new Error(`${name} is no operation`)
  return operation
}

/** Calls operations according to the OpenAPI document, and checks every response against it. */
export const make = (baseUrl: string): Call => {
  const conforms = Conforms.make(OpenApi.document(operations, baseUrl))
  let calls = 0
  return (keys, name, input, options = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const operation = operationOf(name)
      const { method, path: template, query } = operation.route
      const rest = new Map(Object.entries(input))
      const path = template.replace(/\{(\w+)\}/g, (_, field) => {
        const value = rest.get(field)
        rest.delete(field)
        return encodeURIComponent(String(value))
      })
      const search = new URLSearchParams()
      for (const field of Object.keys(query)) {
        if (rest.has(field)) search.set(field, String(rest.get(field)))
        rest.delete(field)
      }
      const response = await fetch(`${baseUrl}${path}${search.size > 0 ? `?${search}` : ""}`, {
        method,
        headers: {
          authorization: `Bearer ${options.key ?? keys.server}`,
          ...(rest.size > 0 && { "content-type": "application/json" }),
          ...(options.read_handle !== undefined && { "read-handle": options.read_handle }),
          ...(operation.idempotent && { "idempotency-key": options.idempotency_key ?? `journey-${++calls}` })
        },
        ...(rest.size > 0 && { body: JSON.stringify(Object.fromEntries(rest)) })
      })
      const text = await response.text()
      const problems = conforms({ method, path, status: response.status, headers: response.headers, text })
      if (problems.length > 0) throw new Error(`${method} ${path} ${response.status}: ${problems.join("; ")}`)
      return { status: response.status, body: JSON.parse(text) }
    })
}
