import { WebhookSender } from "@quotewire/core"
import { Effect } from "effect"
import type * as Chance from "../chaos/Chance.ts"
import * as Ledger from "./Ledger.ts"
import type { Machine } from "./Machine.ts"
import type { ReceiverFault } from "./Story.ts"

/*
 * Webhook receivers. Each has its own address, and records every POST that reaches it.
 */

/** The current faults of receivers and name servers. */
export interface ReceiverWeather {
  readonly receiver: (receiver: number) => ReceiverFault | null
  readonly nameServersAreDown: () => boolean
}

/** The address of a receiver. */
export const urlOf = (receiver: number): string => `https://receiver-${receiver}.example/events`

const numberOf = (url: string): number => Number(/receiver-(\d+)/.exec(url)?.[1])

const answered = (response_status_code: number, duration_ms: number): WebhookSender.SendOutcome => ({
  response_status_code,
  duration_ms,
  failure: null
})

const silent = (failure: WebhookSender.SendFailure, duration_ms: number): WebhookSender.SendOutcome => ({
  response_status_code: null,
  duration_ms,
  failure
})

const outcomeOf = (fault: ReceiverFault | null, chance: Chance.Chance): WebhookSender.SendOutcome => {
  switch (fault) {
    case "returns 500":
    case "fails for good":
      return answered(500, chance.below(100))
    case "redirects":
      return answered(302, chance.below(100))
    case "hangs":
      return silent("timeout", WebhookSender.defaultDeadlineMs)
    case "is gone":
      return silent("connection_failed", chance.below(100))
    case "is slow":
      return answered(200, 5_000 + chance.below(9_000))
    case null:
      return answered(204, 5 + chance.below(100))
  }
}

const isTaken = ({ response_status_code }: WebhookSender.SendOutcome) =>
  response_status_code !== null && response_status_code < 300

/** How hosts send to the receivers. */
export const sender = (
  machine: Machine,
  chance: Chance.Chance,
  ledger: Ledger.Ledger,
  weather: ReceiverWeather
): WebhookSender.WebhookSender["Service"] => ({
  send: Effect.fnUntraced(function* ({ body, headers, url }) {
    const fault = weather.receiver(numberOf(url))
    if (fault !== null) ledger.reached.add(`fault: receiver ${fault}`)
    const outcome = outcomeOf(fault, chance)
    const attempt = Ledger.attemptOf(url, headers["webhook-id"] ?? "")
    ledger.attempts.set(attempt, (ledger.attempts.get(attempt) ?? 0) + 1)
    if (fault !== "is gone")
      ledger.received.push({ url, body, headers, was_taken: isTaken(outcome), ...Ledger.momentOf(machine) })
    yield* Effect.sleep(outcome.duration_ms)
    return outcome
  }),
  lookUp: () =>
    Effect.delay(
      Effect.sync(() => {
        if (!weather.nameServersAreDown()) return "public"
        ledger.reached.add("fault: name servers are down")
        return "unavailable"
      }),
      chance.below(20)
    )
})
