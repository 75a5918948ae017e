import { Effect } from "effect"
import type { Access, Credentials } from "../access/Access.ts"
import type { Allowance } from "../access/Allowance.ts"
import type { Caller } from "../access/Caller.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type { ApiError } from "../wire/ApiError.ts"

/**
 * Identifies the caller of any request, and counts an invalid key against its address.
 *
 * An address that has reached its limit is refused before its key is looked up, so that guessing keys does not load
 * storage. Only recently used valid keys still pass.
 */
export const authenticate = (
  access: Access["Service"],
  allowance: Allowance["Service"],
  credentials: Credentials
): Effect.Effect<Caller, ApiError<"authentication_failed" | "rate_limited"> | StorageUnavailable> => {
  const known = Effect.tapError(access.authenticate(credentials), (error) =>
    error._tag === "authentication_failed" ? allowance.failedAuthentication(credentials.address) : Effect.void
  )
  return access.mayBeGuessed(credentials)
    ? Effect.andThen(allowance.mayAuthenticate(credentials.address), known)
    : known
}
