import { Config, Effect, Option, Redacted, Result } from "effect"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { variableOf } from "../settings/Settings.ts"
import * as StandardInput from "../settings/StandardInput.ts"

/**
 * Reads a connection's values from the `QUOTEWIRE_CONNECTION_…` variables if at least one of them is set. Otherwise
 * reads them from standard input, as a JSON object or as `NAME=value` lines.
 *
 * Values are never read from arguments, because other users can see those. No message repeats what was read.
 */
export const read = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const values = yield* fromVariables(names)
  return Object.keys(values).length > 0 ? values : yield* fromStandardInput(names)
})

/** Reads the values that are set in `QUOTEWIRE_CONNECTION_…` variables. */
export const fromVariables = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const set = yield* Effect.forEach(names, fromVariable)
  return Object.fromEntries(set.filter((value) => value !== null))
})

/** The variable for a field: `QUOTEWIRE_CONNECTION_API_KEY` for `api_key`. */
export const variable = (name: string): string => variableOf(`connection-${name}`)

const fromVariable = (name: string) =>
  Config.option(Config.Redacted(variable(name))).pipe(
    Effect.map((value) => (Option.isNone(value) ? null : ([name, Redacted.value(value.value)] as const))),
    Effect.mapError(() => new CommandFailed({ message: `${variable(name)} cannot be read.` }))
  )

const fromStandardInput = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const text = yield* StandardInput.read(
    `Type a NAME=value line for each of ${names.join(", ")}, then Ctrl-D. Your input is visible.`
  )
  return yield* Effect.fromResult(text.trimStart().startsWith("{") ? fromJson(text) : fromLines(text))
})

const fromJson = (text: string): Result.Result<unknown, CommandFailed> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: () => StandardInput.unreadable("must be JSON or NAME=value lines")
  })

const fromLines = (text: string): Result.Result<unknown, CommandFailed> => {
  const values = new Map<string, string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue
    const at = line.indexOf("=")
    const name = line.slice(0, Math.max(0, at)).trim()
    if (name === "")
      return Result.fail(StandardInput.unreadable(`must be JSON or NAME=value lines, but line ${index + 1} is neither`))
    if (values.has(name))
      return Result.fail(StandardInput.unreadable(`must give each name once: line ${index + 1} repeats one`))
    values.set(name, line.slice(at + 1))
  }
  return Result.succeed(Object.fromEntries(values))
}
