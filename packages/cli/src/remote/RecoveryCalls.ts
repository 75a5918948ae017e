import type { AnswerOf } from "@quotewire/http/client"
import { Effect } from "effect"
import type { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import * as HostClient from "./HostClient.ts"
import * as OperatorClient from "./OperatorClient.ts"
import type { OperatorHost } from "./OperatorHost.ts"
import * as OwnerOrOperator from "./OwnerOrOperator.ts"

/*
 * Calls about a subscription's recoveries. The owner makes them with an API key, an operator with a token.
 */

/** A recovery and its progress. */
export type Recovery = AnswerOf<"start_event_recovery">
/** A preview of what a recovery would resend. */
export type Preview = AnswerOf<"preview_event_recovery">

/** Which deliveries to resend, and how fast. The host checks the values. */
export type Choice = Readonly<Record<string, unknown>>

/** The calls about one subscription's recoveries. */
export interface RecoveryCalls {
  readonly preview: (choice: Choice) => Effect.Effect<Preview, CommandFailed>
  readonly start: (choice: Choice) => Effect.Effect<Recovery, CommandFailed>
  readonly list: Effect.Effect<ReadonlyArray<Recovery>, CommandFailed>
  readonly change: (recovery_id: string, action: Action) => Effect.Effect<Recovery, CommandFailed>
}

/** What can be done with a recovery. */
export type Action = "pause" | "resume" | "stop"

/** Creates the calls about a subscription's recoveries. Fails if a setting is missing. */
export const of = (
  settings: OwnerOrOperator.CallerSettings,
  subscription_id: string
): Effect.Effect<RecoveryCalls, WrongUsage> =>
  OwnerOrOperator.callsOf(settings, {
    owner: (client) => asOwner(client, subscription_id),
    operator: (host, place) => asOperator(host, { ...place, subscription_id })
  })

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

const asOperator = (host: OperatorHost, place: Readonly<Record<string, string>>): RecoveryCalls => {
  const call = <Answer>(name: OperatorClient.OperationName, input: Choice = {}) =>
    OperatorClient.callWithAdvice<Answer>(host, name, { ...input, ...place })
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
