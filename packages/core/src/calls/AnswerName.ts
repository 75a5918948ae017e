import type { SubscriptionId } from "../wire/Ids.ts"

/*
 * The identifiers of records of the kind `answer`, which keep that the repeat of a call does nothing twice. What a record
 * holds goes by the word that its identifier begins with; no operation is called by one of the words below.
 */

/** Of a call with an `Idempotency-Key`: whether it runs, and then its answer (`Answers`). */
export const ofCall = (operation: string, key: string | null): string => `${operation} ${key}`

/** Of a subscription that is made in two steps: whose the first step was (`TwoStepCalls.Begun`). */
export const ofCreation = (key: string | null): string => `subscription ${key}`

/** Of a secret that is rotated in two steps: the same. */
export const ofRotation = (id: SubscriptionId, key: string | null): string => `rotation ${id} ${key}`

/** Of a test that was handed over: its answer alone, stored with the delivery. */
export const ofTest = (id: SubscriptionId, key: string | null): string => `test ${id} ${key}`

/** Of a replay that was handed over: the same. */
export const ofReplay = (id: SubscriptionId, event_id: string, key: string | null): string =>
  `replay ${id} ${event_id} ${key}`

/** Of an advance of a sandbox's clock that was accepted: where it is on its way to (`Advance.Goal`). */
export const ofAdvance = (key: string | null, seconds: number): string => `advance ${seconds} ${key}`
