import { randomUUID } from "node:crypto"
import { isApiError } from "@quotewire/http/client"
import { Console, Effect, Schedule } from "effect"
import { printable } from "../carriers/CarrierText.ts"
import * as HostClient from "./HostClient.ts"

/** How often a long advance reports its progress. */
const report_every = "3 seconds"

const numeral = (value: number): string => value.toLocaleString("en-US")

/** Prints to standard error how much time is left, and which carriers have not answered yet. */
const reportProgress = Effect.fnUntraced(function* (client: HostClient.HostClient, target_seconds: number, id: string) {
  const { clock_offset_seconds } = yield* HostClient.call((signal) => client.get_sandbox({}, { signal }))
  const { quote_request } = yield* HostClient.call((signal) =>
    client.get_quote_request({ id, wait_seconds: 0 }, { signal })
  )
  const waiting = quote_request.carriers
    .filter(({ outcome }) => outcome === "pending")
    .map(({ carrier }) => carrier.name)
  const left = `The clock is still advancing: ${numeral(Math.max(0, target_seconds - clock_offset_seconds))} seconds are left.`
  yield* Console.error(printable(waiting.length === 0 ? left : `${left} No answer yet: ${waiting.join(", ")}.`))
})

/**
 * Advances the clock of the sandbox, however long that takes. Meanwhile, reports the carriers that have not answered
 * the quote request `id`.
 */
export const advance = Effect.fnUntraced(function* (client: HostClient.HostClient, seconds: number, id: string) {
  const before = yield* HostClient.call((signal) => client.get_sandbox({}, { signal }))
  const idempotency_key = `trigger-${randomUUID()}`
  const once = Effect.tryPromise({
    try: (signal) => client.advance_time({ seconds }, { signal, idempotency_key }),
    catch: (error) => error
  })
  const advancing = Effect.retry(once, {
    while: (error) => isApiError(error, "conflict") && error.retry_action === "wait"
  }).pipe(Effect.catch(HostClient.refused))
  const reporting = reportProgress(client, before.clock_offset_seconds + seconds, id).pipe(
    Effect.ignore,
    Effect.delay(report_every),
    Effect.repeat(Schedule.forever)
  )
  yield* Effect.raceFirst(advancing, reporting)
})
