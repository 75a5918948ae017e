import { OperatorToken } from "@quotewire/core/program"
import { type Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import { requiredUnless } from "./Parameters.ts"
import * as Settings from "./Settings.ts"
import * as StorageSettings from "./StorageSettings.ts"

/*
 * The settings with which operators' commands reach a service: a host and a token, or the service's database.
 */

/** The token for calling a host. Without it, the command uses the database. */
export const operatorToken = Settings.secret(
  "operator-token",
  "Operator's token, to call a host instead of using the host's database"
).pipe(
  Flag.filter(
    (token) => OperatorToken.isWellFormed(Redacted.value(token)),
    () => Settings.settingError("operator-token", "be a complete token, such as operator_…")
  )
)

/** Flags for either a token and a host, or a database. */
export const reach = {
  database_url: requiredUnless(StorageSettings.databaseUrl, StorageSettings.cells, operatorToken),
  cells: Flag.optional(StorageSettings.cells),
  operator_token: Flag.optional(operatorToken),
  base_url: Flag.optional(Settings.calledUrl)
}

/** Like `reach`, but for commands that do not always need a host or a database. */
export const optionalReach = { ...reach, database_url: Flag.optional(StorageSettings.databaseUrl) }

/** The seal keys. They are not needed with a host, which has its own. */
export const sealKeys = requiredUnless(StorageSettings.sealKeys, operatorToken)

/** The values of the `reach` flags. */
export interface ReachSettings extends StorageSettings.DatabaseSettings {
  readonly operator_token: Option.Option<Redacted.Redacted<string>>
  readonly base_url: Option.Option<string>
}

/** The values of the `reach` flags, and the seal keys that a database needs. */
export interface SealedReachSettings extends ReachSettings {
  readonly seal_keys: Option.Option<StorageSettings.SealKeys>
}
