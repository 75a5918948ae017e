import { Array, Cause, Layer, Logger, type LogLevel, Predicate, References } from "effect"
import * as Fault from "../concurrency/Fault.ts"

/**
 * Takes a log entry, which consists of fields, if any, and a message. The service does not wait for a returned promise.
 */
type LogMethod = (...entry: [fields: object, message: string] | [message: string]) => unknown

/**
 * Your program's logger, such as `console` or a pino logger.
 *
 * Entries with fields are passed in pino's form, `warn({ carrier_id }, "…")`, which `console` can also print. Entries
 * never contain keys, secrets, or facts about a person.
 */
export interface ProgramLogger {
  readonly debug: LogMethod
  readonly info: LogMethod
  readonly warn: LogMethod
  readonly error: LogMethod
}

const methods: { readonly [Level in LogLevel.LogLevel]: keyof ProgramLogger } = {
  All: "debug",
  Trace: "debug",
  Debug: "debug",
  Info: "info",
  Warn: "warn",
  Error: "error",
  Fatal: "error",
  None: "debug"
}

/**
 * Passes every log entry, of any level, to the program's logger. If there is no logger, Effect logs to standard output.
 *
 * If the logger throws, or returns a promise that rejects, the entry is printed to standard output. The first time this
 * happens, the logger's error is also printed.
 */
export const layer = (logger: ProgramLogger | undefined): Layer.Layer<never> => {
  if (logger === undefined) return Layer.empty
  let hasThrown = false
  const toProgram = Logger.make<unknown, void>((options) => {
    const { annotations, cause, message } = Logger.formatStructured.log(options)
    const fields = cause === undefined ? annotations : { ...annotations, cause }
    const text = Array.ensure(message).map(String).join(" ")
    const method = methods[options.logLevel]
    const printInstead = (thrown: unknown) => {
      Logger.defaultLogger.log(options)
      if (hasThrown) return
      hasThrown = true
      Logger.defaultLogger.log({
        ...options,
        logLevel: "Error",
        message: ["The logger in the `logger` option threw an error; log entries that it rejects are printed here"],
        cause: Cause.die(Fault.redacted(thrown))
      })
    }
    try {
      const taken = Object.keys(fields).length === 0 ? logger[method](text) : logger[method](fields, text)
      if (Predicate.isPromiseLike(taken)) taken.then(undefined, printInstead)
    } catch (thrown) {
      printInstead(thrown)
    }
  })
  return Layer.merge(Logger.layer([toProgram]), Layer.succeed(References.MinimumLogLevel, "All"))
}
