import { ApiError, connect } from "@quotewire/http/client"
import { Effect } from "effect"
import type { Answer, Call } from "./Call.ts"
import { operationOf } from "./rest.ts"

/** Calls operations with the client library's methods, without retries, because journeys inspect refusals. */
export const make =
  (base_url: string): Call =>
  (keys, name, input, { key = keys.server, ...options } = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const client = connect({ base_url, key, max_retries: 0 })
      try {
        const body = await Reflect.get(client, name)(input, options)
        return { status: operationOf(name).route.status, body }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        const { code, doc_url, field_errors, message, request_id, retry_action, status } = error
        return {
          status,
          body: { error: { code, doc_url, field_errors, message, retry_action: { type: retry_action } }, request_id }
        }
      }
    })
