import type { ApiKey, Organization } from "../access/ApiKey.ts"
import type { ConnectionSummary, LastTest } from "../carriers/Connection.ts"
import { fromMillis, type Timestamp } from "../wire/Timestamp.ts"

/*
 * What an embedded service returns about organizations, keys and connections. Times are strings, as everywhere in the
 * API.
 */

/** An organization, with a workspace in each environment. */
export interface EmbeddedOrganization extends Omit<Organization, "created_at"> {
  readonly created_at: Timestamp
}

/** A key's metadata, never the key itself. */
export interface EmbeddedKey extends Omit<ApiKey, "created_at" | "revoked_at"> {
  readonly created_at: Timestamp
  /** When the key was revoked; null if it is valid. */
  readonly revoked_at: Timestamp | null
}

/** A connection as listed, without its secrets. */
export interface EmbeddedConnection extends Omit<ConnectionSummary, "set_at" | "last_test"> {
  readonly set_at: Timestamp
  /** When the connection was last tested, and the result; null if it has not been tested since it was set. */
  readonly last_test: (Omit<LastTest, "at"> & { readonly at: Timestamp }) | null
}

export const organization = (stored: Organization): EmbeddedOrganization => ({
  ...stored,
  created_at: fromMillis(stored.created_at)
})

export const key = (stored: ApiKey): EmbeddedKey => ({
  ...stored,
  created_at: fromMillis(stored.created_at),
  revoked_at: stored.revoked_at === null ? null : fromMillis(stored.revoked_at)
})

export const connection = (summary: ConnectionSummary): EmbeddedConnection => ({
  ...summary,
  set_at: fromMillis(summary.set_at),
  last_test: summary.last_test === null ? null : { ...summary.last_test, at: fromMillis(summary.last_test.at) }
})
