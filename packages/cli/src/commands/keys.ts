import type { Access, ApiKey } from "@quotewire/core"
import { Caller, Ids, Timestamp } from "@quotewire/core/program"
import { Console, Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import * as Reach from "../remote/Reach.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { config, json, word } from "../settings/Settings.ts"
import { organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

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
      const options = { organization_id, environment, kind }
      const { key, key_id, warnings } = yield* Reach.createKey(settings, options)
      yield* Effect.forEach(warnings, (warning) => Console.error(`quotewire: ${warning}`))
      const printed = { key_id, key, ...(warnings.length > 0 && { warnings }) }
      yield* Output.result(settings, printed, keyLines({ key_id, key }))
    })
).pipe(Command.withDescription("Create a key, and show it once"))

const keyLines = ({ key_id, key }: Access.IssuedKey): ReadonlyArray<string> => [
  key,
  "",
  `Its id is ${key_id}. The key is not shown again.`
]

/** The fields of a key that are printed. Times are in RFC 3339 format; `revoked_at` is null for a valid key. */
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
  Reach.withAccess(settings, (access) =>
    Effect.gen(function* () {
      const listed = (yield* access.listKeys(settings.organization)).map(printedKey)
      yield* Output.result(settings, { keys: listed }, listed.map(lineOf))
    }).pipe(Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such organization." }))))
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
    Reach.withAccess(settings, (access) =>
      Effect.gen(function* () {
        const key = printedKey(yield* access.revokeKey(settings.key_id))
        yield* Output.result(settings, key, [lineOf(key)])
      }).pipe(Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such key." }))))
    )
).pipe(Command.withDescription("Revoke a key; every host refuses it within a second"))

/** `quotewire keys` creates, lists and revokes organizations' API keys. */
export const keys = Command.make("keys").pipe(
  Command.withDescription("Manage the API keys of organizations"),
  Command.withSubcommands([create, list, revoke])
)
