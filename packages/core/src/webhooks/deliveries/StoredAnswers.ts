import * as Kind from "../../storage/Kind.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import { ReplayResult, TestResult } from "./DeliveryViews.ts"

/*
 * The responses to tests and replays are stored together with their deliveries. If a response is lost, a retried call
 * gets the stored response and sends nothing.
 */

const traits = { survives_reset: true, kept_for: { period: "quotes", clock: "workspace" } } as const

/** The record kind for the responses to tests. */
export const tests = Kind.make({ name: "test_answer", schema: TestResult, ...traits })

/** The record kind for the responses to replays. */
export const replays = Kind.make({ name: "replay_answer", schema: ReplayResult, ...traits })

/** The record ID of the response to a test. */
export const testId = (id: SubscriptionId, key: string | null): string => `${id} ${key}`

/** The record ID of the response to a replay. */
export const replayId = (id: SubscriptionId, eventId: string, key: string | null): string => `${id} ${eventId} ${key}`
