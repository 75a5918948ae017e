import type { ApiError } from "@quotewire/core"
import { Data } from "effect"

/** What a challenge tells a client beside the address of the metadata (RFC 6750, RFC 9728). */
export interface Challenge {
  /** Left out if nothing was sent that could be wrong. */
  readonly error?: "invalid_token" | "insufficient_scope"
  readonly description?: string
  /** The scope to ask for, if there is one. */
  readonly scope: string | null
}

/** A refusal that tells the client how to sign in: the header goes with it. */
export class Challenged extends Data.TaggedError("Challenged")<{
  readonly error: ApiError.ApiError
  /** The value of `WWW-Authenticate`. */
  readonly header: string
}> {}

/** Writes the value of `WWW-Authenticate`. No part may contain a quote. */
export const write = ({ description, error, scope }: Challenge, resource_metadata: string): string => {
  const parameters = [
    ["error", error],
    ["error_description", description],
    ["scope", scope],
    ["resource_metadata", resource_metadata]
  ]
  return `Bearer ${parameters.flatMap(([name, value]) => (value == null ? [] : `${name}="${value}"`)).join(", ")}`
}
