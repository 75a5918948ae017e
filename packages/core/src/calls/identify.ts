import { Context, Effect } from "effect"
import { Access, type Credentials } from "../access/Access.ts"
import { Allowance } from "../access/Allowance.ts"
import type { Caller, Grant } from "../access/Caller.ts"
import type * as ApiError from "../wire/ApiError.ts"
import type { RequestId } from "../wire/Ids.ts"
import { refuse } from "./Refusal.ts"

/** What a host knows about every request. */
export interface RequestHead {
  readonly request_id: RequestId
  readonly credentials: Credentials
}

/**
 * Finds out who calls without calling an operation, for a host whose answers depend on the caller.
 *
 * Fails with the same refusals as `call`.
 */
export const identify = (request: RequestHead): Effect.Effect<Caller, ApiError.ApiError, Access | Allowance> =>
  Effect.contextWith((services: Context.Context<Access | Allowance>) =>
    Effect.catchCause(authenticate(services, request.credentials), (cause) =>
      refuse("identify", request.request_id, cause)
    )
  )

/**
 * Finds out who calls with an access token. The effect `verify` checks the token and returns what it grants.
 *
 * A failure with `authentication_failed` counts against the address, like a wrong key. An address that has reached its
 * limit is refused before the token is checked.
 */
export const identifyGrant = <G extends Grant, E extends { readonly _tag: string }>(
  { credentials: { address }, request_id }: RequestHead,
  verify: Effect.Effect<G, E>
): Effect.Effect<{ readonly caller: Caller; readonly grant: G }, ApiError.ApiError | E, Access | Allowance> =>
  Effect.gen(function* () {
    const access = yield* Access
    const allowance = yield* Allowance
    yield* allowance.mayAuthenticate(address)
    const grant = yield* countFailure(allowance, address, verify)
    const caller = yield* Effect.catchCause(access.admit(grant), (cause) => refuse("identify", request_id, cause))
    return { caller, grant }
  })

/**
 * Finds out who sends a request, and counts an invalid key against its address.
 *
 * An address that has reached its limit is refused before its key is looked up, so that guessing keys does not load
 * storage. Only recently used valid keys still pass.
 */
export const authenticate = (services: Context.Context<Access | Allowance>, credentials: Credentials) => {
  const access = Context.get(services, Access)
  const allowance = Context.get(services, Allowance)
  const known = countFailure(allowance, credentials.address, access.authenticate(credentials))
  return access.mayBeGuessed(credentials)
    ? Effect.andThen(allowance.mayAuthenticate(credentials.address), known)
    : known
}

/** Counts a failed authentication against its address. */
const countFailure = <A, E extends { readonly _tag: string }, R>(
  allowance: Allowance["Service"],
  address: string,
  identifying: Effect.Effect<A, E, R>
) =>
  Effect.tapError(identifying, (error) =>
    error._tag === "authentication_failed" ? allowance.failedAuthentication(address) : Effect.void
  )
