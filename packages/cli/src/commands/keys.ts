import { Access, type ApiKey, Caller, Ids, Quotewire, Timestamp } from "@quotewire/core"
import { Console, Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Reach from "../remote/Reach.ts"
import * as RemoteServices from "../remote/RemoteServices.ts"
import * as Database from "../service/Database.ts"
import * as Service from "../service/Service.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { noOrganization } from "../settings/refusals.ts"
import { config, json, word } from "../settings/Settings.ts"
import { type DatabaseSettings, organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

/** Creates a key in a database. To count the carriers of its environment, it reads the configuration. */
const createIn = Effect.fnUntraced(function* (
  settings: DatabaseSettings & Pick<HostSettings, "config">,
  options: Parameters<typeof Quotewire.createKey>[0]
) {
  const configuration = yield* ConfigFile.load(settings.config)
  const created = yield* Quotewire.createKey(options).pipe(
    Effect.catchTag("not_found", noOrganization),
    Effect.provide(Service.carriers(configuration)),
    Database.withAccess(settings)
  )
  const warnings = created.warnings.map((warning) => (configuration.carriers ? warning : `${warning} ${uncounted}`))
  return { ...created, warnings }
})

const create = Command.make(
  "create",
  reportAllErrors({
    organization,
    environment: word("environment", Caller.Environment.literals, "Environment of the key"),
    kind: word("kind", Caller.KeyKind.literals, "Kind of key"),
    config,
    ...OperatorSettings.reach,
    json
  }),
  ({ organization: organization_id, environment, kind, ...settings }) =>
    Effect.gen(function* () {
      const host = yield* Reach.hostOf(settings)
      const options = { organization_id, environment, kind }
      const { key, key_id, warnings } = yield* host === null
        ? createIn(settings, options)
        : Effect.catchTag(RemoteServices.createKey(host, options), "not_found", noOrganization)
      yield* Effect.forEach(warnings, (warning) => Console.error(`quotewire: ${warning}`))
      const printed = { key_id, key, ...(warnings.length > 0 && { warnings }) }
      yield* Output.result(settings, printed, shown({ key_id, key }))
    })
).pipe(Command.withDescription("Create a key, and show it once"))

const uncounted = "To count the carriers of your hosts, name their configuration file with --config."

const shown = ({ key_id, key }: Access.IssuedKey): ReadonlyArray<string> => [
  key,
  "",
  `Its id is ${key_id}. The key is not shown again.`
]

/** The printed form of a key. Times are RFC 3339; `revoked_at` is null for a valid key. */
const printedKey = ({ id: key_id, environment, kind, created_at, revoked_at }: ApiKey.ApiKey) => ({
  key_id,
  environment,
  kind,
  created_at: Timestamp.fromMillis(created_at),
  revoked_at: revoked_at === null ? null : Timestamp.fromMillis(revoked_at)
})

const lineOf = (key: ReturnType<typeof printedKey>): string =>
  `${key.key_id}  ${key.environment} ${key.kind}  ${key.created_at}${key.revoked_at === null ? "" : `  revoked ${key.revoked_at}`}`

const list = Command.make("list", reportAllErrors({ organization, ...OperatorSettings.reach, json }), (settings) =>
  Effect.gen(function* () {
    const access = yield* Access.Access
    const listed = (yield* access.listKeys(settings.organization)).map(printedKey)
    yield* Output.result(settings, { keys: listed }, listed.map(lineOf))
  }).pipe(
    Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such organization." }))),
    Reach.withAccess(settings)
  )
).pipe(Command.withDescription("List the keys of an organization by id, oldest first"))

const keyArgument = Argument.String("key_id").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.KeyId),
    () => "<key_id> must be the id of a key, such as key_01…, not the key itself"
  ),
  Argument.withDescription("Id of the key, key_…")
)

const revoke = Command.make(
  "revoke",
  reportAllErrors({ key_id: keyArgument, ...OperatorSettings.reach, json }),
  (settings) =>
    Effect.gen(function* () {
      const access = yield* Access.Access
      const key = printedKey(yield* access.revokeKey(settings.key_id))
      yield* Output.result(settings, key, [lineOf(key)])
    }).pipe(
      Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such key." }))),
      Reach.withAccess(settings)
    )
).pipe(Command.withDescription("Revoke a key; every host refuses it within a second"))

/** `quotewire keys` creates, lists and revokes the API keys of organizations. */
export const keys = Command.make("keys").pipe(
  Command.withDescription("Manage the API keys of organizations"),
  Command.withSubcommands([create, list, revoke])
)
