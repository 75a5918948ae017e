import { Ids, OperatorToken, OperatorTokens, Timestamp } from "@quotewire/core"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Database from "../service/Database.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { anyOf, json, oneOf } from "../settings/Settings.ts"
import { database, organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

const known = OperatorToken.OperatorScope.literals

const scopesFlag = Flag.String("scopes").pipe(
  Flag.filterMap(
    (text) => Option.all(text.split(",").map((scope) => oneOf(known, scope.trim()))),
    () => `--scopes must be scopes separated by commas: ${anyOf(known)}`
  ),
  Flag.withDescription("What the token allows, separated by commas: read, write, facts")
)

const nameFlag = Flag.String("name").pipe(
  Flag.filter(
    (name) => name.trim() !== "" && name.length <= OperatorToken.maxName,
    () => `--name must have 1 to ${OperatorToken.maxName} characters`
  ),
  Flag.withDescription("Who or what uses the token; the audit log shows it")
)

const daysFlag = Flag.Int("expires-in-days").pipe(
  Flag.filter(
    (days) => days >= 1 && days <= OperatorToken.maxDays,
    () => `--expires-in-days must be a whole number from 1 to ${OperatorToken.maxDays}`
  ),
  Flag.withDefault(OperatorToken.defaultDays),
  Flag.withDescription(`Number of days until the token expires; ${OperatorToken.defaultDays} by default`)
)

/** The fields of a token that are printed: its metadata, with times in RFC 3339 format. */
const printed = (token: OperatorToken.OperatorToken) => ({
  token_id: token.id,
  name: token.name,
  scopes: token.scopes,
  organization_id: token.organization_id,
  created_at: Timestamp.fromMillis(token.created_at),
  expires_at: Timestamp.fromMillis(token.expires_at),
  revoked_at: token.revoked_at === null ? null : Timestamp.fromMillis(token.revoked_at)
})

const lineOf = (token: ReturnType<typeof printed>): string =>
  [
    token.token_id,
    token.name,
    token.scopes.join(","),
    token.organization_id ?? "all organizations",
    `until ${token.expires_at}`,
    ...(token.revoked_at === null ? [] : [`revoked ${token.revoked_at}`])
  ].join("  ")

const createFlags = {
  name: nameFlag,
  scopes: scopesFlag,
  organization: Flag.optional(organization),
  expires_in_days: daysFlag,
  ...database,
  json
}

const createToken = Command.make("create-token", reportAllErrors(createFlags), (settings) =>
  Effect.gen(function* () {
    const { expires_in_days, name, scopes } = settings
    const tokens = yield* OperatorTokens.OperatorTokens
    const organization_id = Option.getOrUndefined(settings.organization)
    const { details, token } = yield* tokens.create({ name, scopes, organization_id, expires_in_days })
    const tokenView = printed(details)
    yield* Output.result(settings, { token, ...tokenView }, [
      token,
      "",
      lineOf(tokenView),
      "The token is not shown again."
    ])
  }).pipe(
    Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such organization." }))),
    Effect.catchTag("invalid_input", ({ message }) => Effect.fail(new CommandFailed({ message }))),
    Database.withAccess(settings)
  )
).pipe(Command.withDescription("Create a token for the operators' API, and show it once"))

const list = Command.make("list", reportAllErrors({ ...database, json }), (settings) =>
  Effect.gen(function* () {
    const tokens = yield* OperatorTokens.OperatorTokens
    const listed = (yield* tokens.list).map(printed)
    yield* Output.result(settings, { tokens: listed }, listed.map(lineOf))
  }).pipe(Database.withAccess(settings))
).pipe(Command.withDescription("List the tokens of operators by id, oldest first"))

const tokenArgument = Argument.String("token_id").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.OperatorTokenId),
    () => "<token_id> must be the id of a token, such as opt_01…, not the token itself"
  ),
  Argument.withDescription("Id of the token, opt_…")
)

const revoke = Command.make("revoke", reportAllErrors({ token_id: tokenArgument, ...database, json }), (settings) =>
  Effect.gen(function* () {
    const tokens = yield* OperatorTokens.OperatorTokens
    const revoked = printed(yield* tokens.revoke(settings.token_id))
    yield* Output.result(settings, revoked, [lineOf(revoked)])
  }).pipe(
    Effect.catchTag("not_found", () => Effect.fail(new CommandFailed({ message: "No such token." }))),
    Database.withAccess(settings)
  )
).pipe(Command.withDescription("Revoke a token; every host refuses its next call"))

/** `quotewire operators` creates, lists and revokes operators' tokens. */
export const operators = Command.make("operators").pipe(
  Command.withDescription("Manage the tokens of the operators' API"),
  Command.withSubcommands([createToken, list, revoke])
)
