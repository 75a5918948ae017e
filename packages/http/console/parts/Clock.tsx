import { useEffect, useState } from "preact/hooks"
import type { AnswerOf } from "../../src/client/index.ts"
import { bump, offsetMs } from "../state/clock.ts"
import { useAction, useLive } from "../state/loading.ts"
import type { Session } from "../state/session.ts"
import { duration, moment } from "../words/format.ts"
import { ofDue } from "../words/states.ts"
import { Failure } from "./basics.tsx"

const steps = [
  { seconds: 10, text: "+10 s" },
  { seconds: 60, text: "+1 min" },
  { seconds: 3_600, text: "+1 h" },
  { seconds: 86_400, text: "+1 day" }
] as const

/** The longest time between two reads of the clock, in milliseconds. */
const longestMs = 10_000

/**
 * How long to wait before the next read of the clock, in milliseconds: at most until one second after the next job is
 * due.
 */
const untilNextLook = ({ next_due, workspace_time }: AnswerOf<"get_sandbox">): number =>
  next_due === null ? longestMs : Math.min(longestMs, Date.parse(next_due.at) - Date.parse(workspace_time) + 1_000)

/** The sandbox's clock, which all of its requests share, and the buttons that move it. */
export const Clock = ({ session }: { readonly session: Session }) => {
  const clock = useLive(`clock ${bump.value}`, {
    read: async (signal) => {
      const sandbox = await session.client.get_sandbox({}, { signal })
      offsetMs.value = sandbox.clock_offset_seconds * 1_000
      return sandbox
    },
    next: untilNextLook
  })
  const { busy, error, run } = useAction()
  const now = useNow()
  if (clock.value === null) return <div class="clock" />
  const { clock_offset_seconds, next_due } = clock.value
  const clockMs = now + clock_offset_seconds * 1_000
  const dueMs = next_due === null ? 0 : Math.max(0, Date.parse(next_due.at) - clockMs)
  const advance = (seconds: number) =>
    run(async () => {
      await session.client.advance_time({ seconds })
      bump.value++
    })
  return (
    <section class="clock" aria-label="The sandbox's clock">
      <p>
        Sandbox clock <b>{moment(new Date(clockMs).toISOString())}</b>{" "}
        <span class="minor">
          {clock_offset_seconds < 2 ? "at real time" : `${duration(clock_offset_seconds * 1_000)} ahead`}
        </span>
      </p>
      <div class="row">
        {next_due === null ? (
          <span class="minor">Nothing is due.</span>
        ) : (
          // The clock moves by whole seconds, so round up. Otherwise it would stop just before the due time.
          <button type="button" class="next" disabled={busy} onClick={() => advance(Math.ceil(dueMs / 1_000) || 1)}>
            {ofDue(next_due.what)} in {duration(Math.ceil(dueMs / 1_000) * 1_000)}
          </button>
        )}
        {steps.map(({ seconds, text }) => (
          <button type="button" key={seconds} disabled={busy} onClick={() => advance(seconds)}>
            {text}
          </button>
        ))}
      </div>
      <Failure error={error} />
    </section>
  )
}

/** This machine's time in milliseconds, updated every second. */
const useNow = (): number => {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
