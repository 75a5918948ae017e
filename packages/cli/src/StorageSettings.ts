import { Caller, Ids, Seal } from "@quotewire/core"
import { Option, Redacted, Result, Schema } from "effect"
import { Flag } from "effect/cli"
import { Base64 } from "effect/encoding"
import { choice, must, secret, text, toggle } from "./Settings.ts"

/** An address of PostgreSQL whose parts are where they seem: a `/` in a password would make its rest a path. */
const isDatabaseUrl = (text: string): boolean => {
  if (/[\s\p{Cc}]/u.test(text)) return false
  const url = URL.parse(text)
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) && /^\/[^/@]+$/.test(url.pathname) && url.hash === ""
}

/** The PostgreSQL database in which everything is kept. */
export const database_url = secret(
  "database-url",
  "PostgreSQL database, postgres://user:password@host:5432/database"
).pipe(
  Flag.filter(
    (url) => isDatabaseUrl(Redacted.value(url)),
    () => must("database-url", "be an address such as postgres://user:password@host:5432/database")
  )
)

/** The keys that secrets at rest are sealed with. */
export type SealKeys = Seal.SealKeys["Service"]["keys"]

const readKey = (text: string): Redacted.Redacted<Uint8Array> | null => {
  const bytes = Base64.decode(text.trim())
  return Result.isSuccess(bytes) && bytes.success.length === Seal.key_bytes ? Redacted.make(bytes.success) : null
}

/** Keys as they are written in a setting, newest first; none where one of them is no key. */
const readSealKeys = (text: string): Option.Option<SealKeys> => {
  const keys = text.split(",").map(readKey)
  const [newest, ...older] = keys.filter((key) => key !== null)
  return newest === undefined || older.length !== keys.length - 1 ? Option.none() : Option.some([newest, ...older])
}

/** The keys that signing secrets and applicants' facts are sealed with at rest, newest first. */
export const seal_keys = secret(
  "seal-keys",
  "Keys that secrets at rest are sealed with, 32 bytes each in base64, newest first"
).pipe(
  Flag.filterMap(
    (keys) => readSealKeys(Redacted.value(keys)),
    () =>
      must(
        "seal-keys",
        "be keys of 32 bytes in base64, newest first, separated by commas; openssl rand -base64 32 makes one"
      )
  )
)

/** What a service needs to be told to stand on a database. */
export interface StorageSettings {
  readonly database_url: Redacted.Redacted<string>
  readonly seal_keys: SealKeys
}

/** An organization, by its id. */
export const organizationNamed = (name: string, description: string) =>
  text(name, description).pipe(
    Flag.filterMap(Schema.decodeUnknownOption(Ids.OrganizationId), () => must(name, "be an id such as org_01…"))
  )

/** The organization in whose workspace callers without a key act, at the agent endpoint alone. */
export const keyless_organization = organizationNamed(
  "keyless-organization",
  "Organization for which agents without a key quote; none by default"
).pipe(Flag.optional)

/** The environment in which callers without a key act. */
export const keyless_environment = choice(
  "keyless-environment",
  Caller.Environment.literals,
  "Where they quote, sandbox or live; sandbox by default"
).pipe(Flag.withDefault<Caller.Environment>("sandbox"))

/** Whether the schema is brought up to date before anything is served. */
export const migrate = toggle("migrate", "Bring the schema up to date before serving")

/** Whether another process works: this one only answers calls. */
export const no_worker = toggle("no-worker", "Answer calls only; quotewire work runs the due jobs")
