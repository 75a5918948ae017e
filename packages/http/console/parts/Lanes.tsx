import type { ComponentChildren } from "preact"
import { duration } from "../words/format.ts"
import type { Tone } from "../words/states.ts"
import { usePlaced } from "./basics.tsx"

/** A mark on a lane. Its times are in milliseconds since the start of the axis. A mark without an end is a point. */
export interface Mark {
  readonly from: number
  readonly to?: number
  readonly tone: Tone
  /** The tooltip text. */
  readonly label: string
  /** The mark's shape; its color is set separately. */
  readonly kind: "bar" | "open" | "silent" | "tick" | "dot"
}

/** One row of the diagram: a name, its marks, and a text that says what the marks show. */
export interface Lane {
  readonly name: ComponentChildren
  readonly marks: ReadonlyArray<Mark>
  readonly says: ComponentChildren
  readonly tone: Tone
}

const steps = [
  100, 250, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000,
  86_400_000
]

/** The labeled times on the axis, at most six. */
const ticksOf = (spanMs: number): ReadonlyArray<number> => {
  const step = steps.find((one) => spanMs / one <= 6) ?? spanMs / 4
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, index) => index * step)
}

const percent = (ms: number, spanMs: number): string => `${Math.min(100, Math.max(0, (ms / spanMs) * 100))}%`

const Marked = ({ mark, span }: { readonly mark: Mark; readonly span: number }) => {
  const { from, kind, label, to, tone } = mark
  const ref = usePlaced<HTMLSpanElement>({
    "--from": percent(from, span),
    "--width": percent((to ?? from) - from, span)
  })
  return <span ref={ref} class={`mark ${kind} ${tone}`} title={label} />
}

const Tick = ({ at, span }: { readonly at: number; readonly span: number }) => {
  const ref = usePlaced<HTMLSpanElement>({ "--from": percent(at, span) })
  return (
    <span ref={ref} class="mark label">
      {at === 0 ? "0" : duration(at)}
    </span>
  )
}

const Line = ({ at, span }: { readonly at: number; readonly span: number }) => {
  const ref = usePlaced<HTMLSpanElement>({ "--from": percent(at, span) })
  return <span ref={ref} class="mark line" />
}

/** A diagram of lanes on a shared time axis. The text of each lane says everything that its marks show. */
export const Lanes = ({
  deadline,
  lanes,
  span
}: {
  readonly lanes: ReadonlyArray<Lane>
  readonly span: number
  readonly deadline: number | null
}) => {
  const ticks = ticksOf(span)
  return (
    <div class="lanes">
      <div class="lane axis" aria-hidden="true">
        <span />
        <span class="track">
          {ticks.map((at) => (
            <Tick key={at} at={at} span={span} />
          ))}
        </span>
        <span />
      </div>
      {lanes.map(({ marks, name, says, tone }, index) => (
        // The lanes of a request never change their order, so the index is a stable key.
        <div class="lane" key={index}>
          <span class="name">{name}</span>
          <span class="track" aria-hidden="true">
            {ticks.map((at) => (
              <Line key={`line ${at}`} at={at} span={span} />
            ))}
            {deadline !== null && <Deadline at={deadline} span={span} />}
            {marks.map((mark, place) => (
              <Marked key={`${place} ${mark.from}`} mark={mark} span={span} />
            ))}
          </span>
          <span class={`says ${tone}`}>{says}</span>
        </div>
      ))}
    </div>
  )
}

const Deadline = ({ at, span }: { readonly at: number; readonly span: number }) => {
  const ref = usePlaced<HTMLSpanElement>({ "--from": percent(at, span) })
  return <span ref={ref} class="mark deadline" title="The deadline" />
}
