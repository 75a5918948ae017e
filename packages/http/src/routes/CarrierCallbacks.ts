import { ApiError, type Carrier } from "@quotewire/core"
import { Effect } from "effect"
import * as Answer from "../host/Answer.ts"
import * as Route from "../host/Route.ts"

/** The maximum size of a carrier callback's body, in bytes. */
export const maxBytes = 64 * 1024

/**
 * Applies a carrier's answer. Returns false if the answer belongs to no ask, or does not prove that it comes from the
 * carrier.
 */
export type Receive<R> = (
  carrier_id: string,
  callback: Carrier.CarrierCallback
) => Effect.Effect<boolean, ApiError.ApiError, R>

/** `POST /carriers/{id}/callbacks`: 204 if the answer was accepted. Otherwise `not_found`, which does not say why. */
export const route = <R>(receive: Receive<R>): Route.Route<R> =>
  Route.make("POST", "/carriers/{id}/callbacks", ({ params, headers, readRaw }) =>
    readRaw(maxBytes).pipe(
      Effect.flatMap((body) => receive(params.id ?? "", { headers, body })),
      Effect.flatMap((isAccepted) =>
        isAccepted ? Effect.succeed(Answer.empty(204)) : Effect.fail(ApiError.make("not_found"))
      )
    )
  )
