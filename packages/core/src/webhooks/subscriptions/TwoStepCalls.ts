import { Effect, Option, Schema } from "effect"
import type { Call } from "../../calls/Call.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import type { Storage } from "../../storage/Storage.ts"
import { SubscriptionId } from "../../wire/Ids.ts"

/** The first step of a two-step call, stored under the call's key. A retry continues after this step. */
const FirstStep = Schema.Struct({
  /** The subscription; null if the second step was refused. The key can then be used again. */
  subscription_id: Schema.NullOr(SubscriptionId),
  /** The deadline for finishing the call, in milliseconds of workspace time. */
  until: Schema.Int
})
export type FirstStep = typeof FirstStep.Type

/** The record kind for two-step calls. */
export const kind = Kind.make({
  name: "two_step_call",
  schema: FirstStep,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The record ID of a call that creates a subscription. */
export const creationId = (key: string | null): string => `create ${key}`

/** The record ID of a call that rotates a secret. */
export const rotationId = (id: SubscriptionId, key: string | null): string => `rotate ${id} ${key}`

/** The state of a two-step call, and the version of its record; version 0 means that nothing is stored. */
export interface TwoStepCall {
  readonly id: string
  readonly version: number
  readonly begun: FirstStep
}

const nothing: FirstStep = { subscription_id: null, until: 0 }

/** Reads the state of a call by its record ID, which contains the call's key. */
export const load = Effect.fnUntraced(function* (storage: Storage["Service"], call: Call, id: string) {
  const stored = yield* storage.get({ workspace_id: call.moment.workspace.id, kind: kind.name, id })
  return Option.match(stored, {
    onNone: (): TwoStepCall => ({ id, version: 0, begun: nothing }),
    onSome: (record): TwoStepCall => ({ id, version: record.version, begun: kind.value(record) })
  })
})

/** The state of a call after its first step. */
export const begin = (previous: TwoStepCall, firstStep: FirstStep): TwoStepCall => ({
  ...previous,
  version: previous.version + 1,
  begun: firstStep
})

/** The state of a call after its second step was refused. Its key can be used again. */
export const released = (previous: TwoStepCall): TwoStepCall => begin(previous, nothing)

/** The stored record of a call's state. */
export const toStored = ({ id, version, begun }: TwoStepCall, now: number): StoredRecord =>
  kind.record(begun, { id, version, created_at: now, updated_at: now })
