import type { Caller, Ids } from "@quotewire/core"
import type { AnswerOf } from "@quotewire/http/client"
import { Effect, Option, type Redacted } from "effect"
import { type CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import * as MissingSettings from "../settings/MissingSettings.ts"
import * as HostClient from "./HostClient.ts"
import * as OperatorClient from "./OperatorClient.ts"

/*
 * The recoveries of a subscription: for its owner with an API key, or for an operator with a token.
 */

/** A recovery with its progress. */
export type Recovery = AnswerOf<"start_event_recovery">
/** What a recovery would send again. */
export type Preview = AnswerOf<"preview_event_recovery">

/** Which deliveries to send again, and how fast. The host checks the values. */
export type Choice = Readonly<Record<string, unknown>>

/** The calls about one subscription. */
export interface RecoveryCalls {
  readonly preview: (choice: Choice) => Effect.Effect<Preview, CommandFailed>
  readonly start: (choice: Choice) => Effect.Effect<Recovery, CommandFailed>
  readonly list: Effect.Effect<ReadonlyArray<Recovery>, CommandFailed>
  readonly change: (recovery_id: string, action: Action) => Effect.Effect<Recovery, CommandFailed>
}

/** What can be done with a recovery. */
export type Action = "pause" | "resume" | "stop"

/** Who calls: with an organization, an operator; otherwise the owner of the subscription. */
export interface CallerSettings {
  readonly base_url: string
  readonly api_key: Option.Option<Redacted.Redacted<string>>
  readonly operator_token: Option.Option<Redacted.Redacted<string>>
  readonly organization: Option.Option<Ids.OrganizationId>
  readonly environment: Option.Option<Caller.Environment>
}

/** The calls about a subscription. Fails if a setting is missing. */
export const of = (settings: CallerSettings, subscription_id: string): Effect.Effect<RecoveryCalls, WrongUsage> => {
  const { api_key, base_url, environment, operator_token, organization } = settings
  if (Option.isNone(organization)) {
    return Option.isNone(api_key)
      ? missing("For a subscription of your own", "api-key")
      : Effect.succeed(asOwner(HostClient.make({ base_url, api_key: api_key.value }), subscription_id))
  }
  if (Option.isNone(operator_token)) return missing("For the subscription of an organization", "operator-token")
  if (Option.isNone(environment)) {
    return Effect.fail(new WrongUsage({ message: "--organization needs --environment, sandbox or live." }))
  }
  const place = { organization_id: organization.value, environment: environment.value, subscription_id }
  return Effect.succeed(asOperator({ base_url, operator_token: operator_token.value }, place))
}

const missing = (who: string, flag: string) =>
  Effect.fail(new WrongUsage({ message: `${who}: ${MissingSettings.requestFor([flag])}.` }))

const asOwner = (client: HostClient.HostClient, id: string): RecoveryCalls => ({
  preview: (choice) => HostClient.call((signal) => client.preview_event_recovery({ id, ...choice }, { signal })),
  start: (choice) => HostClient.call((signal) => client.start_event_recovery({ id, ...choice }, { signal })),
  list: Effect.map(
    HostClient.call((signal) => client.list_event_recoveries({ id }, { signal })),
    ({ recoveries }) => recoveries
  ),
  change: (recovery_id, action) =>
    HostClient.call((signal) => client.change_event_recovery({ id, recovery_id, action }, { signal }))
})

const asOperator = (host: OperatorClient.OperatorHost, place: Readonly<Record<string, string>>): RecoveryCalls => {
  const call = <Answer>(name: OperatorClient.OperationName, input: Choice = {}) =>
    OperatorClient.told<Answer>(host, name, { ...input, ...place })
  return {
    preview: (choice) => call<Preview>("preview_recovery", choice),
    start: (choice) => call<Recovery>("start_recovery", choice),
    list: Effect.map(
      call<{ readonly recoveries: ReadonlyArray<Recovery> }>("list_recoveries"),
      ({ recoveries }) => recoveries
    ),
    change: (recovery_id, action) => call<Recovery>("change_recovery", { recovery_id, action })
  }
}
