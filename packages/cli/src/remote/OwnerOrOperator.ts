import { Caller, type Ids } from "@quotewire/core/program"
import { Effect, Option, type Redacted } from "effect"
import { Flag } from "effect/cli"
import { WrongUsage } from "../settings/CommandErrors.ts"
import * as MissingSettings from "../settings/MissingSettings.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { word } from "../settings/Settings.ts"
import { organization } from "../settings/StorageSettings.ts"
import * as HostClient from "./HostClient.ts"
import type { OperatorHost } from "./OperatorHost.ts"

/* Commands that an owner uses with an API key, and an operator with a token. */

/** The flags that say who calls: an operator if `--organization` is given, otherwise the owner. */
export const flags = {
  organization: Flag.optional(organization),
  environment: word("environment", Caller.Environment.literals, "With --organization, its environment").pipe(
    Flag.optional
  ),
  operator_token: OperatorSettings.reach.operator_token,
  ...HostClient.flags,
  api_key: Flag.optional(HostClient.flags.api_key)
}

/** The parsed values of `flags`. */
export interface CallerSettings {
  readonly base_url: string
  readonly api_key: Option.Option<Redacted.Redacted<string>>
  readonly operator_token: Option.Option<Redacted.Redacted<string>>
  readonly organization: Option.Option<Ids.OrganizationId>
  readonly environment: Option.Option<Caller.Environment>
}

/** The calls to make for the owner, and those to make for an operator. */
export interface Calls<A> {
  readonly owner: (client: HostClient.HostClient) => A
  readonly operator: (
    host: OperatorHost,
    place: { readonly organization_id: Ids.OrganizationId; readonly environment: Caller.Environment }
  ) => A
}

/** Chooses the owner's or the operator's calls, depending on the flags. Fails if a setting is missing. */
export const callsOf = <A>(settings: CallerSettings, { operator, owner }: Calls<A>): Effect.Effect<A, WrongUsage> => {
  const { api_key, base_url, environment, operator_token, organization: named } = settings
  if (Option.isNone(named)) {
    return Option.isNone(api_key)
      ? missingFlag("For your own resources", "api-key")
      : Effect.succeed(owner(HostClient.make({ base_url, api_key: api_key.value })))
  }
  if (Option.isNone(operator_token)) return missingFlag("For an organization's resources", "operator-token")
  if (Option.isNone(environment)) {
    return Effect.fail(new WrongUsage({ message: "--organization needs --environment, sandbox or live." }))
  }
  const place = { organization_id: named.value, environment: environment.value }
  return Effect.succeed(operator({ base_url, operator_token: operator_token.value }, place))
}

const missingFlag = (purpose: string, flag: string) =>
  Effect.fail(new WrongUsage({ message: `${purpose}: ${MissingSettings.requestFor([flag])}.` }))
