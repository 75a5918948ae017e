import { Effect, Layer, Stdio } from "effect"
import { TerminalCapabilities } from "effect/cli"

/** Styles for text on a terminal. Apply them only to text that is already escaped. */
export interface Style {
  readonly bold: (text: string) => string
  readonly red: (text: string) => string
  readonly yellow: (text: string) => string
  readonly green: (text: string) => string
}

const plain = (text: string): string => text
const sgr = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`

const none: Style = { bold: plain, red: plain, yellow: plain, green: plain }
const colored: Style = { bold: sgr(1), red: sgr(31), yellow: sgr(33), green: sgr(32) }

/**
 * The style for standard output. At a terminal it has colors, unless `NO_COLOR` is set or `TERM` is `dumb`. Elsewhere
 * it has colors only if `FORCE_COLOR` is set. `--help` follows the same rule.
 */
export const style: Effect.Effect<Style> = Effect.map(TerminalCapabilities.TerminalCapabilities, ({ canColor }) =>
  canColor ? colored : none
)

/** The style for standard error, by the same rule as `style`. */
export const errorStyle: Effect.Effect<Style, never, Stdio.Stdio> = Stdio.Stdio.use((stdio) => {
  const asOutput = Layer.succeed(Stdio.Stdio, Stdio.make({ ...stdio, stdoutIsTerminal: stdio.stderrIsTerminal }))
  return Effect.provide(style, Layer.provide(TerminalCapabilities.layer, asOutput))
})

/** The style for a status, such as a request's, a delivery's or a circuit breaker's. An unknown status has no color. */
export const ofStatus = ({ green, red, yellow }: Style, status: string): ((text: string) => string) => {
  if (/^(?:2\d\d|completed|active|succeeded|closed|ok)$/.test(status)) return green
  if (/^(?:5\d\d|failed|open|inactive|missing)$/.test(status)) return red
  return /^(?:4\d\d|in_progress|action_required|retrying|pending|half_open)$/.test(status) ? yellow : plain
}
