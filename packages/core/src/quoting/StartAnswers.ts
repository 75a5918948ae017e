import { Effect, Option } from "effect"
import * as ReadHandle from "../access/ReadHandle.ts"
import { Seal } from "../access/Seal.ts"
import type { Call } from "../calls/Call.ts"
import { Storage } from "../storage/Storage.ts"
import type { QuoteRequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import * as ApplicationRecord from "./ApplicationRecord.ts"
import * as QuoteRequest from "./QuoteRequest.ts"
import type { StartedQuoteRequest } from "./StartInput.ts"

/** Answers starts: the first with a key, and its repeats. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  /** The request, with the read handle and the recorded consent of its application if it has them. */
  const answer = (
    request: Json.Json<QuoteRequest.QuoteRequest>,
    { quote_request_id, read_handle, quote_consent }: ApplicationRecord.ApplicationRecord
  ): Effect.Effect<Json.Json<StartedQuoteRequest>> => {
    const consent = quote_consent === null ? {} : { quote_consent }
    if (read_handle === null) return Effect.succeed(Json.extend(request, consent))
    const read_handle_expires_at = fromMillis(read_handle.expires_at)
    return Effect.map(ReadHandle.derive(seal, quote_request_id, read_handle.check), (handle) =>
      Json.extend(request, handle === null ? consent : { read_handle: handle, read_handle_expires_at, ...consent })
    )
  }

  /** The answer to a repeat: the request as it is now; null if retention or a reset has erased it. */
  const repeat = Effect.fnUntraced(function* (call: Call, id: QuoteRequestId) {
    const workspace_id = call.caller.workspace_id
    const stored = yield* storage.get({ workspace_id, kind: QuoteRequest.kind.name, id })
    if (Option.isNone(stored)) return null
    const request = QuoteRequest.kind.json(stored.value)
    const application = yield* storage.get({
      workspace_id,
      kind: ApplicationRecord.kind.name,
      id: QuoteRequest.kind.value(stored.value).application_id
    })
    if (Option.isNone(application)) return request
    return yield* answer(request, ApplicationRecord.kind.value(application.value))
  })

  return { answer, repeat }
})
