import { Effect, Option } from "effect"
import * as ReadHandle from "../access/ReadHandle.ts"
import type { Seal } from "../access/sealing/Seal.ts"
import type { Call } from "../calls/Call.ts"
import type { Storage } from "../storage/Storage.ts"
import * as ApplicationRecord from "./ApplicationRecord.ts"
import type { QuoteRequest } from "./QuoteRequest.ts"

/**
 * Whether the caller may read a request in its workspace. Server keys and a partner link for the request may. All other
 * callers need the request's read handle.
 */
export const mayRead = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  seal: Seal["Service"],
  call: Call,
  request: QuoteRequest
) {
  const { caller, moment } = call
  if (caller.kind === "server" || caller.shared_id === request.id) return true
  if (caller.read_handle === null) return false
  const stored = yield* storage.get({
    workspace_id: caller.workspace_id,
    kind: ApplicationRecord.kind.name,
    id: request.application_id
  })
  const readHandle = Option.isSome(stored) ? ApplicationRecord.kind.value(stored.value).read_handle : null
  return (
    readHandle !== null &&
    (yield* ReadHandle.isValid(
      seal,
      { workspace_id: caller.workspace_id, id: request.id, handle: caller.read_handle, now: moment.now },
      readHandle
    ))
  )
})
