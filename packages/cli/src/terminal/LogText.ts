import { PlainText } from "@quotewire/core/program"
import { Effect, Formatter, Logger, type LogLevel, Stdio, Terminal } from "effect"
import { fit } from "./fit.ts"
import * as Style from "./Style.ts"

/*
 * Formats log lines for people at a terminal, such as `15:04:05  ! A carrier timed out  carrier_id=acme`.
 */

/** The maximum width of a line at a terminal, in columns. */
const maxWidth = 80

interface LogStyle {
  readonly mark: string
  readonly paint: (text: string) => string
}

const lookOf = (level: LogLevel.LogLevel, status: unknown, style: Style.Style): LogStyle => {
  if (typeof status === "number") {
    const mark = status >= 500 ? "\u2717" : status >= 400 ? "!" : "\u2713"
    return { mark, paint: Style.ofStatus(style, `${status}`) }
  }
  if (level === "Error" || level === "Fatal") return { mark: "\u2717", paint: style.red }
  return level === "Warn" ? { mark: "!", paint: style.yellow } : { mark: "\u00b7", paint: (text) => text }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : Formatter.formatJson(value))

const timeOf = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":")

/**
 * Formats an entry as its time of day, status, message and details. The status of a call is its HTTP status. At a
 * terminal, long entries are wrapped.
 */
export const logger: Effect.Effect<Logger.Logger<unknown, string>, never, Stdio.Stdio | Terminal.Terminal> = Effect.gen(
  function* () {
    const isTerminal = yield* (yield* Stdio.Stdio).stderrIsTerminal
    const columns = isTerminal ? yield* (yield* Terminal.Terminal).columns : 0
    const width = Math.min(columns, maxWidth)
    const style = yield* Style.errorStyle
    return Logger.make((options) => {
      const { annotations, cause, level, message } = Logger.formatStructured.log(options)
      const { status, ...about } = annotations
      const { mark, paint } = lookOf(options.logLevel, status, style)
      const word = status === undefined ? level.toLowerCase() : textOf(status)
      const head = [timeOf(options.date), ...(isTerminal ? [mark] : []), word].join("  ")
      const parts = Array.isArray(message) ? message.map(textOf) : [textOf(message)]
      const fields = Object.entries(about).map(([name, value]) => `${name}=${textOf(value)}`)
      const [first = "", ...more] = fit(PlainText.escaped([head, ...parts, ...fields].join("  ")), width)
      const frames = cause === undefined ? [] : cause.split("\n").map((line) => `    ${PlainText.escaped(line)}`)
      return [first.replace(head, paint(head)), ...more, ...frames].join("\n")
    })
  }
)
