import { Effect } from "effect"
import type { Access, Credentials } from "../access/Access.ts"
import type { Allowance } from "../access/Allowance.ts"
import type { Caller } from "../access/Caller.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type { ApiError } from "../wire/ApiError.ts"

/**
 * Tells who calls, and counts a refused key against its address: the one way in for every request.
 *
 * An address that has reached its limit is refused before a key is looked up, so that guessing costs storage nothing
 * more. Only keys that were good of late go on from there.
 */
export const authenticate = (
  access: Access["Service"],
  allowance: Allowance["Service"],
  credentials: Credentials
): Effect.Effect<Caller, ApiError<"authentication_failed" | "rate_limited"> | StorageUnavailable> => {
  const known = Effect.tapError(access.authenticate(credentials), (error) =>
    error._tag === "authentication_failed" ? allowance.failedAuthentication(credentials.address) : Effect.void
  )
  return access.isStranger(credentials) ? Effect.andThen(allowance.mayAuthenticate(credentials.address), known) : known
}
