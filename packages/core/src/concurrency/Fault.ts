import { Cause, Effect } from "effect"

/**
 * What may be logged of an error that was thrown by code handed to the service, such as a carrier's adapter.
 *
 * Its name, its code and its stack frames say what went wrong and where. Its message is left out: that code works with
 * people's facts and with secrets, and a message can repeat them.
 */
class Fault extends Error {}

/** Errors may have causes of their own; so many are told. */
const max_causes = 5
const max_frames = 10

/** The error without its messages. What is no error keeps its type alone. */
export const of = (thrown: unknown): Error => faultOf(thrown, max_causes)

/** Logs why other people's code has failed, and where; never what its errors say. */
export const log = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logWarning(message, Cause.die(of(Cause.squash(cause))))

/** Takes the messages out of what a call to other people's code dies of, so that the log may show it. */
export const withoutMessages = <A, E, R>(call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchDefect(Effect.suspend(call), (defect) => Effect.die(of(defect)))

/** The same for what is called without an effect. */
export const withoutMessage = <A>(call: () => A): A => {
  try {
    return call()
  } catch (thrown) {
    throw of(thrown)
  }
}

const faultOf = (thrown: unknown, causes: number): Error => {
  if (thrown instanceof Fault) return thrown
  const fault = new Fault()
  fault.name = nameOf(thrown)
  const code = codeOf(thrown)
  fault.message = code === null ? left_out : `${code}, ${left_out}`
  const frames = thrown instanceof Error ? framesOf(thrown) : []
  fault.stack = [`${fault.name}: ${fault.message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n")
  if (causes > 1 && thrown instanceof Error && thrown.cause !== undefined) {
    fault.cause = faultOf(thrown.cause, causes - 1)
  }
  return fault
}

const left_out = "its message is left out"

// Names and codes are words of programs; anything else could be a text with somebody's facts.
const word = /^[A-Za-z_$][\w$./-]{0,63}$/
const upper = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$|^E[A-Z\d]{2,31}$/

const nameOf = (thrown: unknown): string => {
  if (typeof thrown !== "object" || thrown === null) return typeof thrown
  const name = "_tag" in thrown ? thrown._tag : thrown instanceof Error ? thrown.name : "object"
  return typeof name === "string" && word.test(name) ? name : "Error"
}

const codeOf = (thrown: unknown): string | null => {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : null
  return typeof code === "string" && upper.test(code) ? code : null
}

const isInsideEffect = /[\\/]node_modules[\\/]effect[\\/]/
const frame = /^\s*at (?:.*\()?([^()]+:\d+:\d+)\)?$/

/**
 * The places in the code, `file:line:column`, without those inside Effect. The stack begins with the message, which may
 * have lines of its own.
 */
const framesOf = ({ message, stack = "" }: Error): ReadonlyArray<string> => {
  const start = stack.indexOf(message)
  const lines = (start < 0 ? stack : stack.slice(start + message.length)).split("\n")
  return lines
    .flatMap((line) => frame.exec(line)?.[1] ?? [])
    .filter((place) => !isInsideEffect.test(place))
    .slice(0, max_frames)
}
