import { assert } from "@effect/vitest"
import { Cause, Effect, Logger, References } from "effect"
import { type InWorld, live, pass, start, work } from "../support/world.ts"

/** A line of the log: its text, the cause as an operator reads it, and what it is about. */
export interface LogLine {
  readonly text: string
  readonly cause: string
  readonly annotations: { readonly [name: string]: unknown }
}

/** Runs a body, and returns what it logs. */
export const logOf = (body: InWorld<unknown>) => {
  const lines: Array<LogLine> = []
  const logger = Logger.make(({ cause, fiber, message }) => {
    const text = Array.isArray(message) ? message.map(String).join(" ") : String(message)
    lines.push({ text, cause: Cause.pretty(cause), annotations: fiber.getRef(References.CurrentLogAnnotations) })
  })
  return Effect.as(Effect.provideService(body, References.CurrentLoggers, new Set([logger])), lines)
}

/** Starts a live request, lets time pass, and returns its id and what was logged. */
export const logOfRequest = (changes: Parameters<typeof start>[0] = {}, millis = 10) =>
  Effect.gen(function* () {
    let id = ""
    const lines = yield* logOf(
      Effect.gen(function* () {
        yield* work
        id = (yield* start(changes, live)).id
        yield* pass(millis)
      })
    )
    return { id, lines }
  })

/** The only line with this text. */
export const single = (lines: ReadonlyArray<LogLine>, text: string): LogLine => {
  const found = lines.filter((line) => line.text === text)
  assert.lengthOf(found, 1, JSON.stringify(lines))
  return found[0] ?? assert.fail()
}
