import * as Kind from "../../storage/Kind.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import { ReplayResult, TestResult } from "./DeliveryViews.ts"

/*
 * The answers to tests and replays are stored together with their deliveries. If an answer is lost, a retried call gets
 * the stored answer and sends nothing.
 */

const traits = { survives_reset: true, kept_for: { period: "quotes", clock: "workspace" } } as const

/** The record kind for the answers to tests. */
export const tests = Kind.make({ name: "test_answer", schema: TestResult, ...traits })

/** The record kind for the answers to replays. */
export const replays = Kind.make({ name: "replay_answer", schema: ReplayResult, ...traits })

/** The record ID of the answer to a test. */
export const testId = (id: SubscriptionId, key: string | null): string => `${id} ${key}`

/** The record ID of the answer to a replay. */
export const replayId = (id: SubscriptionId, eventId: string, key: string | null): string => `${id} ${eventId} ${key}`
