import { Clock, Context, Effect } from "effect"
import { Access, type Credentials } from "../access/Access.ts"
import { Allowance } from "../access/Allowance.ts"
import type { Caller } from "../access/Caller.ts"
import type { Cost } from "../access/Limits.ts"
import * as ApiError from "../wire/ApiError.ts"
import { authenticate } from "./authenticate.ts"
import { type FinishedCall, type Transport, tell } from "./FinishedCall.ts"
import { RequestLog } from "./RequestLog.ts"

/** A request that reached no operation, as a host hands it over when it answers it. */
export interface UnroutedRequest {
  readonly request_id: string
  readonly credentials: Credentials
  readonly via: Transport & { readonly status: number }
  readonly error_code: ApiError.ErrorCode | null
}

type Services = Access | Allowance | RequestLog

/**
 * Takes note of a request that reached no operation, if its key is valid. Of others it notes nothing, but a key that is
 * refused counts against its address.
 */
export const note = Effect.fnUntraced(
  function* (missed: UnroutedRequest) {
    const created_at = yield* Clock.currentTimeMillis
    const services = yield* Effect.context<Services>()
    yield* finish(services, missed, yield* identify(services, missed), yield* took(created_at))
  },
  (noting) => Effect.ignore(noting)
)

/** What a request that fits no operation takes of the allowance of its key. */
const cost: Cost = { other: 1 }

/**
 * Refuses a request that fits no operation with `not_found`.
 *
 * A valid key pays for it as for any other call, is refused with `rate_limited` where it cannot, and finds the request in
 * its log. A key that is refused counts against its address, and is told no more than one who sends none.
 */
export const refuse = Effect.fnUntraced(function* ({
  via,
  ...missed
}: Pick<UnroutedRequest, "request_id" | "credentials"> & { readonly via: Transport }): Effect.fn.Return<
  never,
  ApiError.ApiError,
  Services
> {
  const { address, key } = missed.credentials
  if (key === null) return yield* notFound
  const created_at = yield* Clock.currentTimeMillis
  const services = yield* Effect.context<Services>()
  const caller = yield* Effect.orElseSucceed(identify(services, missed), () => null)
  if (caller === null) return yield* notFound
  const error = yield* Effect.flip(
    Effect.andThen(Context.get(services, Allowance).spend(caller, cost, address), notFound)
  )
  const { status, _tag: error_code } = error
  yield* finish(services, { ...missed, via: { ...via, status }, error_code }, caller, yield* took(created_at))
  return yield* error
})

const notFound = Effect.fail(ApiError.make("not_found"))

const identify = (services: Context.Context<Services>, { credentials }: Pick<UnroutedRequest, "credentials">) =>
  authenticate(Context.get(services, Access), Context.get(services, Allowance), credentials)

/** When a request came, and how long it took until now; in milliseconds. */
const took = (created_at: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => ({ created_at, duration_ms: now - created_at }))

const finish = (
  services: Context.Context<Services>,
  { error_code, request_id, via }: UnroutedRequest,
  caller: Caller,
  took: Pick<FinishedCall, "created_at" | "duration_ms">
): Effect.Effect<void> => {
  const finished: FinishedCall = {
    ...{ request_id, ...took, caller, via, error_code },
    operation: null,
    status: via.status,
    quote_request_id: null,
    quote_id: null
  }
  Context.get(services, RequestLog).note(finished)
  return tell(services, finished)
}
