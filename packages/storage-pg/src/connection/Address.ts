import { Redacted } from "effect"

/** Where a schema is: the URL of its database, and the schema's name. */
export interface Address {
  readonly url: Redacted.Redacted<string>
  readonly schema?: string
}

/** The parts of a URL that messages may name. */
interface Target {
  readonly place: string
  readonly database: string
  readonly user: string
}

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/**
 * Parses a URL; null if it is not the URL of a PostgreSQL database.
 *
 * Also null if unencoded special characters in a password make a part of the password look like a host or path. Nothing
 * may be sent to such a host, and no message may name it.
 */
export const addressOf = (text: string): URL | null => {
  const url = /^\s*postgres(?:ql)?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null) return null
  const { hash, password, pathname, search, username } = url
  const isSplit = hash !== "" || pathname.includes("@") || (pathname === "" && search.includes("@"))
  const isDecodable = [username, password, pathname].every((part) => decoded(part) !== null)
  return isDecodable && !isSplit ? url : null
}

/** Describes the form of a database URL, for messages. */
export const addressForm =
  "such as postgres://user:password@host:5432/database, with special characters of the password percent-encoded."

/** The parts of a URL that messages may name; null if it is not the URL of a PostgreSQL database. */
export const targetOf = (address: Redacted.Redacted<string>): Target | null => {
  const url = addressOf(Redacted.value(address))
  if (url === null) return null
  const { hostname, pathname, port, searchParams, username } = url
  return {
    place: `${searchParams.get("host") ?? (hostname || "localhost")}:${searchParams.get("port") ?? (port || "5432")}`,
    database: searchParams.get("dbname") ?? decoded(pathname.slice(1)) ?? "",
    user: searchParams.get("user") ?? decoded(username) ?? ""
  }
}

/** The default schema. All SQL in this package is written for this name. */
export const defaultSchema = "quotewire"

/** Whether a schema can have this name: lower-case letters, digits and underscores, at most 50. */
export const isSchemaName = (name: string): boolean => /^[a-z_][a-z0-9_]{0,49}$/.test(name)

/** Creates a function that rewrites this package's SQL for a different schema. It caches each rewritten statement. */
export const inSchema = (schema: string): ((sql: string) => string) => {
  if (schema === defaultSchema) return (sql) => sql
  // The cache has at most as many entries as this package has statements.
  const rewritten = new Map<string, string>()
  return (sql) => {
    const cached = rewritten.get(sql)
    if (cached !== undefined) return cached
    const text = sql.replaceAll(/\bquotewire\b/g, `"${schema}"`)
    rewritten.set(sql, text)
    return text
  }
}
