import type { AnswerOf } from "../../src/client/index.ts"
import { workspaceNow } from "../state/clock.ts"
import type { DeliveryTo } from "../state/deliveries.ts"
import { count, duration, title, visible } from "../words/format.ts"
import { ofDelivery, ofOutcome } from "../words/states.ts"
import { Outside } from "./basics.tsx"
import { type Lane, Lanes } from "./Lanes.tsx"

type Request = AnswerOf<"get_quote_request">["quote_request"]
type Carrier = Request["carriers"][number]
type Event = AnswerOf<"list_events">["events"][number]

/** Shows what happened to a request, one row for each carrier, on a shared time axis in workspace time. */
export const Happened = ({
  deliveries,
  events,
  request
}: {
  readonly request: Request
  readonly events: ReadonlyArray<Event>
  readonly deliveries: ReadonlyArray<DeliveryTo>
}) => {
  const start = Date.parse(request.created_at)
  const since = (time: string): number => Date.parse(time) - start
  const isOpen = request.status === "in_progress" || request.status === "action_required"
  const deadline = request.deadline_at === null ? null : since(request.deadline_at)
  const end = Math.max(
    since(request.updated_at),
    ...request.carriers.flatMap(({ answered_at }) => (answered_at === null ? [] : [since(answered_at)]))
  )
  const now = Math.max(end, workspaceNow() - start)
  const span = Math.max(1, isOpen ? Math.max(now, deadline ?? 0) : end) * 1.04
  const within = events.filter(({ occurred_at }) => since(occurred_at) <= span)
  const sent = deliveries.filter(({ delivery }) => since(delivery.created_at) <= span)
  const lanes: ReadonlyArray<Lane> = [
    {
      name: "Request",
      tone: "none",
      marks: [{ kind: isOpen ? "open" : "bar", tone: "none", from: 0, to: isOpen ? now : end, label: "The request" }],
      says: isOpen ? "Open" : `Open for ${duration(end)}`
    },
    ...request.carriers.map((carrier) => laneOf(carrier, since, isOpen ? now : end)),
    {
      name: "Events",
      tone: "none",
      marks: within.map(({ occurred_at, type }) => ({
        kind: "tick",
        tone: "none",
        from: since(occurred_at),
        label: type
      })),
      says: count(events.length, "event")
    },
    ...(deliveries.length === 0
      ? []
      : [
          {
            name: "Deliveries",
            tone: "none",
            marks: sent.map(({ delivery }) => ({
              kind: "dot",
              tone: ofDelivery(delivery.status).tone,
              from: since(delivery.created_at),
              label: `${delivery.event_type}: ${ofDelivery(delivery.status).text}`
            })),
            says: deliveriesInWords(deliveries)
          } satisfies Lane
        ])
  ]
  return (
    <>
      <div class="spread">
        <h2>What happened</h2>
        <span class="minor">
          Times are on the workspace's clock
          {deadline !== null && deadline <= span ? "; the dashed line is the deadline" : ""}
        </span>
      </div>
      <Lanes lanes={lanes} span={span} deadline={deadline !== null && deadline <= span ? deadline : null} />
    </>
  )
}

const laneOf = (carrier: Carrier, since: (time: string) => number, end: number): Lane => {
  const { answered_at, asked_at, outcome, reason } = carrier
  const { text, tone } = ofOutcome(outcome)
  const name = <Outside text={carrier.carrier.name} />
  const why = reason === null ? "" : `: ${visible(title(reason)).toLowerCase()}`
  if (asked_at === null) return { name, tone, marks: [], says: `${text}${why}` }
  const from = since(asked_at)
  const to = answered_at === null ? end : since(answered_at)
  const kind = outcome === "pending" ? "open" : outcome === "no_answer" ? "silent" : "bar"
  const took = answered_at === null ? "" : ` in ${duration(to - from)}`
  return { name, tone, marks: [{ kind, tone, from, to, label: `${text}${took}` }], says: `${text}${took}${why}` }
}

const deliveriesInWords = (deliveries: ReadonlyArray<DeliveryTo>): string => {
  const states = [...new Set(deliveries.map(({ delivery }) => delivery.status))]
  return states
    .map(
      (status) =>
        `${deliveries.filter(({ delivery }) => delivery.status === status).length} ${ofDelivery(status).text.toLowerCase()}`
    )
    .join(", ")
}
