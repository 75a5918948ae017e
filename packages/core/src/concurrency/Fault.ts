import { Cause, Effect } from "effect"

/**
 * The loggable part of an error from code outside the core, such as a carrier's adapter.
 *
 * The name, the code and the stack frames say what went wrong and where. The message is left out: that code handles
 * facts and secrets, and its messages may repeat them.
 */
class Fault extends Error {}

/** How many nested causes are logged. */
const max_causes = 5
const max_frames = 10

/** The error without its messages. Of a thrown value that is not an error, only the type is kept. Never throws. */
export const redacted = (thrown: unknown): Error =>
  readable(
    () => faultOf(thrown, max_causes),
    () => new Fault("it cannot be read")
  )

/** The name of an error and the first code among its causes, such as `TypeError ECONNREFUSED`. Never throws. */
export const classOf = (thrown: unknown): string =>
  readable(
    () => {
      const codes = causesOf(thrown, max_causes).flatMap((cause) => codeOf(cause) ?? [])
      return [nameOf(thrown), ...codes.slice(0, 1)].join(" ")
    },
    () => "Error"
  )

/** Reads a thrown value, which is foreign: a getter of it can throw in its turn. */
const readable = <A>(read: () => A, otherwise: () => A): A => {
  try {
    return read()
  } catch {
    return otherwise()
  }
}

const causesOf = (thrown: unknown, causes: number): ReadonlyArray<unknown> =>
  causes > 1 && thrown instanceof Error && thrown.cause !== undefined
    ? [thrown, ...causesOf(thrown.cause, causes - 1)]
    : [thrown]

/** Logs that code outside the core failed, and where, without its error messages. */
export const log = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logWarning(message, Cause.die(redacted(Cause.squash(cause))))

/** Runs a call to code outside the core, and removes the messages from its defects, so that they can be logged. */
export const redactDefects = <A, E, R>(call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchDefect(Effect.suspend(call), (defect) => Effect.die(redacted(defect)))

/** The same for a synchronous call. */
export const redactThrown = <A>(call: () => A): A => {
  try {
    return call()
  } catch (thrown) {
    throw redacted(thrown)
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

// Only names and codes that look like program words are logged. Anything else could hold facts.
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
 * The frames of the stack, `file:line:column`, except those inside Effect. The stack begins with the message, which may
 * have several lines.
 */
const framesOf = ({ message, stack }: Error): ReadonlyArray<string> => {
  // Some programs set it to something else.
  if (typeof stack !== "string") return []
  const start = stack.indexOf(message)
  const lines = (start < 0 ? stack : stack.slice(start + message.length)).split("\n")
  return lines
    .flatMap((line) => frame.exec(line)?.[1] ?? [])
    .filter((place) => !isInsideEffect.test(place))
    .slice(0, max_frames)
}
