import { ApiError, type Carrier } from "@quotewire/core"
import { Effect } from "effect"
import * as Answer from "../host/Answer.ts"
import * as Route from "../host/Route.ts"

/** The largest body that a carrier may call back with, in bytes. */
export const max_bytes = 64 * 1024

/** Takes a carrier's answer; false where nobody waits for it, or it is not proved to be the carrier's. */
export type Receive<R> = (
  carrier_id: string,
  callback: Carrier.CarrierCallback
) => Effect.Effect<boolean, ApiError.ApiError, R>

/** `POST /carriers/{id}/callbacks`: 204 where the answer was taken, else `not_found`, which tells a stranger nothing. */
export const route = <R>(receive: Receive<R>): Route.Route<R> =>
  Route.make("POST", "/carriers/{id}/callbacks", ({ params, headers, readRaw }) =>
    readRaw(max_bytes).pipe(
      Effect.flatMap((body) => receive(params.id ?? "", { headers, body })),
      Effect.flatMap((isTaken) =>
        isTaken ? Effect.succeed(Answer.empty(204)) : Effect.fail(ApiError.make("not_found"))
      )
    )
  )
