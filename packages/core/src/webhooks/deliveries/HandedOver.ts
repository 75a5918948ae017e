import * as Kind from "../../storage/Kind.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import { ReplayResult, TestResult } from "../subscriptions/SubscriptionViews.ts"

/*
 * The answers of tests and replays that were handed to delivery, stored with the delivery: where an answer is lost, the
 * repeat of the call gives it again and sends nothing.
 */

const traits = { survives_reset: true, kept_for: { period: "quotes", clock: "workspace" } } as const

/** Tests in storage. */
export const tests = Kind.make({ name: "handed_test", schema: TestResult, ...traits })

/** Replays in storage. */
export const replays = Kind.make({ name: "handed_replay", schema: ReplayResult, ...traits })

/** The id of a test. */
export const testId = (id: SubscriptionId, key: string | null): string => `${id} ${key}`

/** The id of a replay. */
export const replayId = (id: SubscriptionId, event_id: string, key: string | null): string => `${id} ${event_id} ${key}`
