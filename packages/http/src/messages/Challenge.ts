import type { ApiError } from "@quotewire/core"
import { Data } from "effect"

/** A challenge's parameters, except the address of the resource metadata (RFC 6750, RFC 9728). */
export interface Challenge {
  /** Omitted if the request had neither a token nor a key. */
  readonly error?: "invalid_token" | "insufficient_scope"
  readonly description?: string
  /** The scope that the client must request; null if no scope is needed. */
  readonly scope: string | null
}

/** A refusal whose `WWW-Authenticate` header tells the client how to sign in. */
export class Challenged extends Data.TaggedError("Challenged")<{
  readonly error: ApiError.ApiError
  /** The value of `WWW-Authenticate`. */
  readonly header: string
}> {}

/** Formats the value of `WWW-Authenticate`. No parameter may contain a double quote. */
export const write = ({ description, error, scope }: Challenge, resourceMetadata: string): string => {
  const parameters = [
    ["error", error],
    ["error_description", description],
    ["scope", scope],
    ["resource_metadata", resourceMetadata]
  ]
  return `Bearer ${parameters.flatMap(([name, value]) => (value == null ? [] : `${name}="${value}"`)).join(", ")}`
}
