import { ApiError, type FinishedCall, Ids, Pipeline } from "@quotewire/core"
import { Effect, Ref, Result } from "effect"
import type * as Peer from "../forms/Peer.ts"
import type * as JsonRpc from "../protocol/JsonRpc.ts"
import * as Protocol from "../protocol/Protocol.ts"
import * as Server from "./Server.ts"
import type { Settings as StdioSettings } from "./StdioServer.ts"

/** Settings for serving one local client program from this process. */
export interface Settings<R> extends Server.Settings<R> {
  /** The API key; null to call without a key. */
  readonly key: string | null
  /** The address of the documentation, without a trailing slash. */
  readonly docs_url: string
}

/** Creates the `answer` function for `StdioServer.serve` that calls the service in this process. */
export const make = <R>(
  settings: Settings<R>
): Effect.Effect<StdioSettings<R | Pipeline.PipelineServices | Ids.Ids>["answer"]> =>
  Effect.map(Ref.make(Protocol.nobody), (handshake) => {
    const server = Server.make(settings)
    const { docs_url, key } = settings
    return Effect.fnUntraced(function* (message: JsonRpc.Message, _line: string, peer: Peer.Peer) {
      const { id, method, params } = message
      if (method === "initialize") yield* Ref.set(handshake, Protocol.readHandshake(params))
      const era = Protocol.eraOf(message, null)
      const checked = Protocol.check(era, message, null)
      if (Result.isFailure(checked)) return Server.textOf(id, { _tag: "error", error: checked.failure })
      const { client, elicits, shows_views } = era === "modern" ? Protocol.readMeta(message) : yield* Ref.get(handshake)
      const request_id = (yield* Ids.Ids).request()
      const credentials = { key, address: "stdio", keyless: true }
      const outcome = yield* Pipeline.identify({
        request_id,
        credentials: { ...credentials, read_handle: null }
      }).pipe(
        Effect.flatMap((caller) =>
          server.answer(message, {
            request_id,
            credentials,
            docs_url,
            caller,
            obtainable_kinds: [],
            era,
            elicits,
            shows_views,
            notify: peer.notify,
            transport: transportOf(client)
          })
        ),
        Effect.flatMap((answered) =>
          answered._tag === "asking" ? answered.finish(peer.ask) : Effect.succeed(answered)
        ),
        Effect.catch((error) => Effect.succeed(Server.refused(ApiError.envelope(error, request_id, docs_url))))
      )
      return Server.textOf(id, outcome)
    })
  })

const transportOf = (client: Protocol.Client | null): FinishedCall.Transport => ({
  method: "POST",
  route: Protocol.path,
  status: 200,
  user_agent: null,
  client_name: client?.name ?? null,
  client_version: client?.version ?? null
})
