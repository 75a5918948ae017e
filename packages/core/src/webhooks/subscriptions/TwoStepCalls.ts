import { Effect, Option } from "effect"
import type { Call } from "../../calls/Call.ts"
import * as Change from "../../storage/Change.ts"
import type { Storage } from "../../storage/Storage.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"

/** What is kept under the key of a call of two steps whose first was made: a repeat finishes the same. */
export interface Begun {
  /** Whose it is; null where the second step was refused, so that the key can be used anew. */
  readonly subscription_id: SubscriptionId | null
  /** Until when it may be finished, in milliseconds of workspace time. */
  readonly until: number
}

/** What stands under a key, and its version: 0 where nothing does. */
export interface Beginning {
  readonly name: string
  readonly version: number
  readonly begun: Begun
}

const nothing: Begun = { subscription_id: null, until: 0 }

/** Reads what has begun under a name, which holds the call's key. */
export const load = Effect.fnUntraced(function* (storage: Storage["Service"], call: Call, name: string) {
  const stored = yield* storage.get({ workspace_id: call.moment.workspace.id, kind: "answer", id: name })
  return Option.match(stored, {
    onNone: (): Beginning => ({ name, version: 0, begun: nothing }),
    onSome: ({ version, body }): Beginning => ({ name, version, begun: Json.decode(Json.fromText<Begun>(body)) })
  })
})

/** The beginning of a first step. */
export const begin = (before: Beginning, begun: Begun): Beginning => ({ ...before, version: before.version + 1, begun })

/** The beginning that a refusal of the second step leaves. */
export const undone = (before: Beginning): Beginning => begin(before, nothing)

/** The record as storage keeps it. */
export const toStored = ({ name, version, begun }: Beginning, now: number): Change.StoredRecord =>
  Change.record({
    kind: "answer",
    id: name,
    version,
    body: JSON.stringify(begun),
    created_at: now,
    updated_at: now
  })
