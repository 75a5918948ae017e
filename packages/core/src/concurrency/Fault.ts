import { Cause, Effect, Predicate } from "effect"

/* Calls code outside the core, and limits what is logged about its errors. */

/**
 * The part of an error from code outside the core, such as a carrier's adapter, that may be logged.
 *
 * The name, the code and the stack frames say what went wrong and where. The message is omitted, because such code
 * handles facts and secrets, which its messages may repeat.
 */
class Fault extends Error {}

/** How many nested causes are logged. */
const maxCauses = 5
const maxFrames = 10

/** An error without messages. If the thrown value is not an error, only its type is kept. Never throws. */
export const redacted = (thrown: unknown): Error =>
  readable(
    () => faultOf(thrown, maxCauses),
    () => new Fault("it cannot be read")
  )

/** The name of an error and the first code among its causes, such as `TypeError ECONNREFUSED`. Never throws. */
export const classOf = (thrown: unknown): string => {
  const { codes, name } = nameAndCodesOf(thrown)
  return [name, ...codes.slice(0, 1)].join(" ")
}

/** The name of an error, and the codes of the error and its causes. Never throws. */
export const nameAndCodesOf = (thrown: unknown): { readonly name: string; readonly codes: ReadonlyArray<string> } =>
  readable(
    () => ({ name: nameOf(thrown), codes: causesOf(thrown, maxCauses).flatMap((cause) => codeOf(cause) ?? []) }),
    () => ({ name: "Error", codes: [] })
  )

/** Reads a thrown value. It comes from other code, so its getters may throw; in that case, returns `fallback()`. */
const readable = <A>(read: () => A, fallback: () => A): A => {
  try {
    return read()
  } catch {
    return fallback()
  }
}

const causesOf = (thrown: unknown, causes: number): ReadonlyArray<unknown> =>
  causes > 1 && thrown instanceof Error && thrown.cause !== undefined
    ? [thrown, ...causesOf(thrown.cause, causes - 1)]
    : [thrown]

/** Logs that code outside the core failed, and where. The code's error messages are not logged. */
export const log = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logWarning(message, Cause.die(redacted(Cause.squash(cause))))

/**
 * Logs that the embedding program's own code failed, and where. Error messages are logged, because the program controls
 * what they contain. Long messages and the list of causes are truncated.
 */
export const logWithMessages = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const thrown = Cause.squash(cause)
  const whole = readable(
    () => faultOf(thrown, maxCauses, ownMessage),
    () => new Fault("it cannot be read")
  )
  return Effect.logWarning(message, Cause.die(whole))
}

const maxMessageCharacters = 1_000

/** The message of a thrown value. A primitive, such as a string or a number, is its own message. */
const ownMessage = (thrown: unknown): string => {
  const message =
    thrown instanceof Error ? thrown.message : Predicate.hasProperty(thrown, "message") ? thrown.message : thrown
  const text = typeof message === "object" && message !== null ? "no message" : String(message)
  return text.length > maxMessageCharacters ? `${text.slice(0, maxMessageCharacters).toWellFormed()}…` : text
}

/** Calls code outside the core. If it dies, removes the messages from the defect, so that the defect can be logged. */
export const redactDefects = <A, E, R>(call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchDefect(Effect.suspend(call), (defect) => Effect.die(redacted(defect)))

/** Like `redactDefects`, but for a synchronous call. Redacts what the call throws. */
export const redactThrown = <A>(call: () => A): A => {
  try {
    return call()
  } catch (thrown) {
    throw redacted(thrown)
  }
}

/**
 * Calls a function of the embedding program, such as `on_expired`, and handles its failure.
 *
 * Does not wait for a returned promise. If the function throws or its promise rejects, passes the error to `failed`,
 * because an unhandled rejection would end the process.
 */
export const callHook = (hook: () => unknown, failed: (thrown: unknown) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.suspend(() => {
    try {
      const returned = hook()
      if (!Predicate.isPromiseLike(returned)) return Effect.void
      // Handle the result here and not in the fiber, because the fiber starts only after Node has already reported the
      // rejection.
      const settled = Promise.resolve(returned).then(
        () => Effect.void,
        (thrown) => failed(thrown)
      )
      return Effect.asVoid(Effect.forkDetach(Effect.flatten(Effect.promise(() => settled))))
    } catch (thrown) {
      return failed(thrown)
    }
  })

const faultOf = (thrown: unknown, causes: number, messageOf = (_: unknown) => leftOut): Error => {
  if (thrown instanceof Fault) return thrown
  const fault = new Fault()
  fault.name = nameOf(thrown)
  const code = codeOf(thrown)
  const message = messageOf(thrown)
  fault.message = code === null ? message : `${code}, ${message}`
  const frames = thrown instanceof Error ? framesOf(thrown) : []
  fault.stack = [`${fault.name}: ${fault.message}`, ...frames.map((place) => `    at ${place}`)].join("\n")
  if (causes > 1 && thrown instanceof Error && thrown.cause !== undefined) {
    fault.cause = faultOf(thrown.cause, causes - 1, messageOf)
  }
  return fault
}

const leftOut = "message omitted"

// Match names and codes that look like identifiers. Nothing else is logged, because it could contain facts.
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

const insideEffect = /[\\/]node_modules[\\/]effect[\\/]/
const frame = /^\s*at (?:.*\()?([^()]+:\d+:\d+)\)?$/

/**
 * The stack frames as `file:line:column`, without frames inside Effect. The stack begins with the message, which may
 * have several lines.
 */
const framesOf = ({ message, stack }: Error): ReadonlyArray<string> => {
  // Some programs replace the stack with a value that is not text.
  if (typeof stack !== "string") return []
  const start = stack.indexOf(message)
  const lines = (start < 0 ? stack : stack.slice(start + message.length)).split("\n")
  return lines
    .flatMap((line) => frame.exec(line)?.[1] ?? [])
    .filter((place) => !insideEffect.test(place))
    .slice(0, maxFrames)
}
