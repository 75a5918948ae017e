import * as Kind from "../../storage/Kind.ts"
import type { SubscriptionId } from "../../wire/Ids.ts"
import { ReplayResult, TestResult } from "./DeliveryViews.ts"

/*
 * The answers of tests and replays, stored together with their deliveries. If an answer is lost, the retried call gets
 * it from here and sends nothing.
 */

const traits = { survives_reset: true, kept_for: { period: "quotes", clock: "workspace" } } as const

/** Answers of tests in storage. */
export const tests = Kind.make({ name: "test_answer", schema: TestResult, ...traits })

/** Answers of replays in storage. */
export const replays = Kind.make({ name: "replay_answer", schema: ReplayResult, ...traits })

/** The storage id of a test's answer. */
export const testId = (id: SubscriptionId, key: string | null): string => `${id} ${key}`

/** The storage id of a replay's answer. */
export const replayId = (id: SubscriptionId, eventId: string, key: string | null): string => `${id} ${eventId} ${key}`
