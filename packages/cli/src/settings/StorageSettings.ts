import { Caller, Ids, Seal } from "@quotewire/core/program"
import { Option, Redacted, Schema } from "effect"
import { Flag } from "effect/cli"
import { requiredUnless } from "./Parameters.ts"
import { choice, secret, settingError, textSetting, toggle } from "./Settings.ts"

/**
 * Whether text is a PostgreSQL URL that parses unambiguously. A `/` in a password would turn the rest of the password
 * into a path.
 */
export const isDatabaseUrl = (text: string): boolean => {
  if (/[\s\p{Cc}]/u.test(text)) return false
  const url = URL.parse(text)
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) && /^\/[^/@]+$/.test(url.pathname) && url.hash === ""
}

/** The PostgreSQL database that stores all data. */
export const databaseUrl = secret(
  "database-url",
  "PostgreSQL database, postgres://user:password@host:5432/database"
).pipe(
  Flag.filter(
    (url) => isDatabaseUrl(Redacted.value(url)),
    () => settingError("database-url", "be an address such as postgres://user:password@host:5432/database")
  )
)

/** The connection pooler in front of the database, for processes that serve calls or run jobs. */
export const poolerUrl = secret(
  "database-pooler-url",
  "Pooler in transaction mode in front of --database-url, such as PgBouncer, for reads and writes; none by default"
).pipe(
  Flag.filter(
    (url) => isDatabaseUrl(Redacted.value(url)),
    () => settingError("database-pooler-url", "be an address such as postgres://user:password@host:6432/database")
  ),
  Flag.optional
)

/** The cells file, which lists the databases that store all data. */
export const cells = textSetting(
  "cells",
  "JSON file with a list of cells (name, url, schema), instead of --database-url, for more than one database"
)

/** The cells that a process claims jobs from. */
export const workCells = textSetting(
  "work-cells",
  "Names of cells, separated by commas, whose jobs this process runs; all by default"
).pipe(
  Flag.map((names) => names.split(",").map((name) => name.trim())),
  Flag.optional
)

/** Where all data is stored: one database or several cells. One of these flags must be set. */
export const database = { database_url: requiredUnless(databaseUrl, cells), cells: Flag.optional(cells) }

/** The values of the `database` flags. */
export interface DatabaseSettings {
  readonly database_url: Option.Option<Redacted.Redacted<string>>
  readonly cells: Option.Option<string>
  /** The connection pooler in front of the database; none by default. */
  readonly pooler_url?: Option.Option<Redacted.Redacted<string>>
  /** The cells whose jobs this process runs; all cells by default. */
  readonly work_cells?: Option.Option<ReadonlyArray<string>>
}

/** The keys that encrypt secrets at rest. */
export type SealKeys = Seal.SealKeys["Service"]["keys"]

/** Parses a list of keys, newest first; `None` if one of them is not a valid key. */
const readSealKeys = (text: string): Option.Option<SealKeys> => {
  const keys = text.split(",").map(Seal.readKey)
  const [newest, ...older] = keys.filter((key) => key !== null)
  return newest === undefined || older.length !== keys.length - 1 ? Option.none() : Option.some([newest, ...older])
}

/** The keys that encrypt signing secrets and applicants' facts at rest, newest first. */
export const sealKeys = secret(
  "seal-keys",
  "Keys that encrypt secrets and facts at rest: 32 bytes each in base64, comma-separated, newest first"
).pipe(
  Flag.filterMap(
    (keys) => readSealKeys(Redacted.value(keys)),
    () =>
      settingError(
        "seal-keys",
        "be keys of 32 bytes in base64, newest first, separated by commas; create a key with openssl rand -base64 32"
      )
  ),
  Flag.filter(
    (keys) => !keys.some(Seal.isGuessable),
    () =>
      settingError("seal-keys", "be random, but a given key can be guessed; create keys with openssl rand -base64 32")
  )
)

/** The settings of a service that uses a database. */
export interface StorageSettings extends DatabaseSettings {
  readonly seal_keys: SealKeys
}

/** A flag for an organization's ID. */
const organizationNamed = (name: string, description: string) =>
  textSetting(name, description).pipe(
    Flag.filterMap(Schema.decodeUnknownOption(Ids.OrganizationId), () => settingError(name, "be an id such as org_01…"))
  )

/** The organization that a command acts on. */
export const organization = organizationNamed("organization", "Id of the organization, org_…")

/** The organization that agents without a key act for, at the agent endpoint only. */
export const keylessOrganization = organizationNamed(
  "keyless-organization",
  "Organization that agents without a key act for; none by default"
).pipe(Flag.optional)

/** The environment in which callers without a key act. */
export const keylessEnvironment = choice(
  "keyless-environment",
  Caller.Environment.literals,
  "Environment that agents without a key act in: sandbox (the default) or live"
).pipe(Flag.withDefault<Caller.Environment>("sandbox"))

/** Whether to update the database schema before serving. */
export const migrate = toggle("migrate", "Update the database schema before serving")

/** Whether this process only serves calls and leaves background jobs to other processes. */
export const noWorker = toggle("no-worker", "Only serve calls; quotewire work runs the background jobs")
