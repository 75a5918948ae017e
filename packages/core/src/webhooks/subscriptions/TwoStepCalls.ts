import { Effect, Option, Schema } from "effect"
import type { Call } from "../../calls/Call.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import type { Storage } from "../../storage/Storage.ts"
import { SubscriptionId } from "../../wire/Ids.ts"

/** What is kept under the key of a call of two steps whose first was made: a repeat finishes the same. */
export const Begun = Schema.Struct({
  /** Whose it is; null where the second step was refused, so that the key can be used anew. */
  subscription_id: Schema.NullOr(SubscriptionId),
  /** Until when it may be finished, in milliseconds of workspace time. */
  until: Schema.Int
})
export type Begun = typeof Begun.Type

/** Calls of two steps in storage. */
export const kind = Kind.make({
  name: "two_step_call",
  schema: Begun,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The id of a call that makes a subscription. */
export const creationId = (key: string | null): string => `create ${key}`

/** The id of a call that rotates a secret. */
export const rotationId = (id: SubscriptionId, key: string | null): string => `rotate ${id} ${key}`

/** What stands under a key, and its version: 0 where nothing does. */
export interface TwoStepCall {
  readonly id: string
  readonly version: number
  readonly begun: Begun
}

const nothing: Begun = { subscription_id: null, until: 0 }

/** Reads what has begun under an id, which holds the call's key. */
export const load = Effect.fnUntraced(function* (storage: Storage["Service"], call: Call, id: string) {
  const stored = yield* storage.get({ workspace_id: call.moment.workspace.id, kind: kind.name, id })
  return Option.match(stored, {
    onNone: (): TwoStepCall => ({ id, version: 0, begun: nothing }),
    onSome: (record): TwoStepCall => ({ id, version: record.version, begun: kind.value(record) })
  })
})

/** The call after its first step. */
export const begin = (before: TwoStepCall, begun: Begun): TwoStepCall => ({
  ...before,
  version: before.version + 1,
  begun
})

/** The call after its second step was refused: nothing stands under its key. */
export const undone = (before: TwoStepCall): TwoStepCall => begin(before, nothing)

/** The record as storage keeps it. */
export const toStored = ({ id, version, begun }: TwoStepCall, now: number): StoredRecord =>
  kind.record(begun, { id, version, created_at: now, updated_at: now })
