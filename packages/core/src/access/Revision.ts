import { Result } from "effect"
import { type ApiError, make } from "../ApiError.ts"

/** The served revisions of the contract, newest first (api.md, Versioning 1). */
export const served = ["2026-09-26"] as const

/** A dated revision of the contract. */
export type Revision = (typeof served)[number]

/** The newest revision. */
export const current: Revision = served[0]

/**
 * Chooses the revision of a call from its `Service-Version` header, which may be absent.
 *
 * A header that is empty, repeated or names a revision that is not served is refused with `invalid_version`.
 */
export const choose = (header: string | null): Result.Result<Revision, ApiError<"invalid_version">> => {
  if (header === null) return Result.succeed(current)
  const revision = served.find((date) => date === header)
  if (revision !== undefined) return Result.succeed(revision)
  return Result.fail(
    make("invalid_version", {
      field_errors: [{ path: "Service-Version", message: "Must be a served revision.", allowed_values: served }]
    })
  )
}
