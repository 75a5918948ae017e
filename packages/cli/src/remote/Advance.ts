import { randomUUID } from "node:crypto"
import { isApiError } from "@quotewire/http/client"
import { Clock, Console, Effect, Schedule } from "effect"
import { printable } from "../carriers/CarrierText.ts"
import * as HostClient from "./HostClient.ts"

/** How often a long advance reports its progress. */
const reportEvery = "3 seconds"

const numeral = (value: number): string => value.toLocaleString("en-US")

/**
 * A clock advance that this command requested. `from` and `to` are in seconds of the sandbox's clock, and `at_ms` is
 * when it was requested.
 */
interface RequestedAdvance {
  readonly from: number
  readonly to: number
  readonly at_ms: number
}

/** Describes how much time is left, and how fast it passes. */
const progressOf = ({ at_ms, from, to }: RequestedAdvance, reachedSeconds: number, nowMs: number): string => {
  const remainingSeconds = Math.max(0, to - reachedSeconds)
  const pace = Math.round(Math.max(0, reachedSeconds - from) / Math.max(1, (nowMs - at_ms) / 1_000))
  return `The clock is still advancing: ${numeral(remainingSeconds)} ${remainingSeconds === 1 ? "second is" : "seconds are"} left, at ${numeral(pace)} per second so far.`
}

/** Prints to standard error how much time is left, how fast it passes, and which carriers have not answered yet. */
const reportProgress = Effect.fnUntraced(function* (
  client: HostClient.HostClient,
  requested: RequestedAdvance,
  id: string
) {
  const { clock_offset_seconds } = yield* HostClient.call((signal) => client.get_sandbox({}, { signal }))
  const { quote_request } = yield* HostClient.call((signal) =>
    client.get_quote_request({ id, wait_seconds: 0 }, { signal })
  )
  const waiting = quote_request.carriers
    .filter(({ outcome }) => outcome === "pending")
    .map(({ carrier }) => carrier.name)
  const progress = progressOf(requested, clock_offset_seconds, yield* Clock.currentTimeMillis)
  yield* Console.error(printable(waiting.length === 0 ? progress : `${progress} No answer yet: ${waiting.join(", ")}.`))
})

/**
 * Advances the sandbox's clock, however long that takes. While it waits, reports the carriers that have not answered
 * the quote request `id`.
 */
export const advance = Effect.fnUntraced(function* (client: HostClient.HostClient, seconds: number, id: string) {
  const sandboxBefore = yield* HostClient.call((signal) => client.get_sandbox({}, { signal }))
  const idempotency_key = `trigger-${randomUUID()}`
  const once = Effect.tryPromise({
    try: (signal) => client.advance_time({ seconds }, { signal, idempotency_key }),
    catch: (error) => error
  })
  const advancing = Effect.retry(once, {
    while: (error) => isApiError(error, "conflict") && error.retry_action === "wait"
  }).pipe(Effect.catch(HostClient.refused))
  const from = sandboxBefore.clock_offset_seconds
  const requested = { from, to: from + seconds, at_ms: yield* Clock.currentTimeMillis }
  const reporting = reportProgress(client, requested, id).pipe(
    Effect.ignore,
    Effect.delay(reportEvery),
    Effect.repeat(Schedule.forever)
  )
  yield* Effect.raceFirst(advancing, reporting)
})
