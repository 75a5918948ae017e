import { useState } from "preact/hooks"
import type { AnswerOf } from "../../src/client/index.ts"
import { bump } from "../state/clock.ts"
import { useAction, useLive } from "../state/loading.ts"
import { count, duration, title } from "../words/format.ts"
import { ofRecovery } from "../words/states.ts"
import { Empty, Failure, Show, Tag, Time } from "./basics.tsx"
import { ListTable } from "./ListTable.tsx"

type Recovery = AnswerOf<"list_event_recoveries">["recoveries"][number]
type Preview = AnswerOf<"preview_event_recovery">
type Action = "pause" | "resume" | "stop"

const statuses = ["failed", "cancelled", "succeeded"] as const

/** Which deliveries to resend, and how fast. */
export interface Choice {
  readonly statuses: ReadonlyArray<(typeof statuses)[number]>
  readonly created_after?: string
  readonly created_before?: string
  readonly per_minute: number
}

/** The calls about one endpoint's recoveries. The endpoint's owner and an operator use different calls. */
export interface RecoveryCalls {
  /** The endpoint's ID. */
  readonly id: string
  /** The maximum rate that the user may choose, in deliveries per minute. */
  readonly maxPerMinute: number
  readonly list: (signal: AbortSignal) => Promise<{ readonly recoveries: ReadonlyArray<Recovery> }>
  readonly preview: (choice: Choice) => Promise<Preview>
  readonly start: (choice: Choice) => Promise<unknown>
  readonly change: (recovery_id: string, action: Action) => Promise<unknown>
}

/**
 * Resends an endpoint's deliveries. The user selects deliveries, previews and starts the recovery, and watches it run.
 */
export const Recoveries = ({ calls }: { readonly calls: RecoveryCalls }) => {
  const page = useLive(`recoveries ${calls.id} ${bump.value}`, {
    read: async (signal) => (await calls.list(signal)).recoveries,
    next: (all) => (all.some(({ state }) => state === "running") ? 2_000 : 10_000)
  })
  return (
    <>
      <div class="card">
        <Start calls={calls} />
      </div>
      <div class="card">
        <h2>Recoveries</h2>
        <Show of={page}>
          {(all) =>
            all.length === 0 ? (
              <Empty>There are none yet.</Empty>
            ) : (
              <ListTable
                label="Recoveries"
                columns={["Started", "State", "Sent again", "Left", "Actions"]}
                items={all}
                row={(recovery) => (
                  <tr key={recovery.id}>
                    <td>
                      <Time at={recovery.created_at} />
                    </td>
                    <td>
                      <Tag {...ofRecovery(recovery.state)} />
                      {recovery.reason !== null && <div class="minor">{title(recovery.reason)}</div>}
                    </td>
                    <td>
                      {recovery.resent} of {recovery.matched}
                      {recovery.skipped > 0 && <div class="minor">{recovery.skipped} skipped</div>}
                    </td>
                    <td>{recovery.left_seconds === 0 ? "nothing" : duration(recovery.left_seconds * 1_000)}</td>
                    <td>
                      <Actions calls={calls} recovery={recovery} />
                    </td>
                  </tr>
                )}
              />
            )
          }
        </Show>
      </div>
    </>
  )
}

const Start = ({ calls }: { readonly calls: RecoveryCalls }) => {
  const [shown, setShown] = useState<{ readonly choice: Choice; readonly preview: Preview } | null>(null)
  const { busy, error, run } = useAction()
  const preview = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget
    if (!(form instanceof HTMLFormElement)) return
    const choice = choiceOf(new FormData(form))
    run(async () => setShown({ choice, preview: await calls.preview(choice) }))
  }
  const start = (choice: Choice) =>
    run(async () => {
      await calls.start(choice)
      setShown(null)
      bump.value++
    })
  return (
    <form class="stack" onSubmit={preview} onInput={() => setShown(null)}>
      <fieldset class="row">
        <legend>Deliveries that</legend>
        {statuses.map((status) => (
          <label key={status}>
            <input type="checkbox" name="status" value={status} defaultChecked={status !== "succeeded"} /> {status}
          </label>
        ))}
      </fieldset>
      <label for="after">Created at or after (UTC)</label>
      <input id="after" name="after" type="datetime-local" />
      <label for="before">Created before (UTC)</label>
      <input id="before" name="before" type="datetime-local" />
      <label for="pace">Deliveries per minute, at most {calls.maxPerMinute}</label>
      <input id="pace" name="pace" type="number" min="1" max={calls.maxPerMinute} defaultValue="60" required />
      <div class="row">
        <button type="submit" disabled={busy}>
          Preview
        </button>
        {shown !== null && shown.preview.matched > 0 && (
          <button type="button" class="main" disabled={busy} onClick={() => start(shown.choice)}>
            Send {count(shown.preview.matched, "delivery", "deliveries")} again
          </button>
        )}
      </div>
      <p role="status">{shown === null ? "" : inWords(shown.preview)}</p>
      <Failure error={error} />
    </form>
  )
}

const choiceOf = (form: FormData): Choice => {
  const created_after = timeOf(form.get("after"))
  const created_before = timeOf(form.get("before"))
  return {
    statuses: statuses.filter((status) => form.getAll("status").includes(status)),
    ...(created_after !== null && { created_after }),
    ...(created_before !== null && { created_before }),
    per_minute: Number(form.get("pace"))
  }
}

/**
 * Parses the value of a date and time field, such as `2026-11-27T12:30`, sometimes with seconds. The value is in UTC.
 */
const timeOf = (value: FormDataEntryValue | null): string | null =>
  typeof value === "string" && value !== "" ? `${value.length === 16 ? `${value}:00` : value}Z` : null

const inWords = ({ is_complete, matched, per_minute, takes_seconds }: Preview): string => {
  if (matched === 0) return "No delivery matches."
  const many = `${is_complete ? "" : "at least "}${count(matched, "delivery", "deliveries")}`
  return `${title(many)}, about ${duration(takes_seconds * 1_000)} at ${per_minute} per minute, in the order of their events.`
}

const Actions = ({
  calls,
  recovery: { id, state }
}: {
  readonly calls: RecoveryCalls
  readonly recovery: Recovery
}) => {
  const { busy, error, run } = useAction()
  const act = (action: Action) => () =>
    run(async () => {
      await calls.change(id, action)
      bump.value++
    })
  if (state !== "running" && state !== "paused") return <span class="minor">none</span>
  const toggle = state === "running" ? "pause" : "resume"
  return (
    <div class="row tight">
      <button type="button" disabled={busy} onClick={act(toggle)}>
        {title(toggle)}
      </button>
      <button type="button" disabled={busy} onClick={act("stop")}>
        Stop
      </button>
      <Failure error={error} />
    </div>
  )
}
