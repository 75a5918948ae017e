import { ByteSize, Config, Console, Effect, Option, Redacted, Result, Stdio, Stream } from "effect"
import { CommandFailed } from "./CommandErrors.ts"
import { variableOf } from "./Settings.ts"

/** The most that is read from standard input, in bytes. */
const max_bytes = 256 * 1_024

/**
 * Reads the values of a connection: from the variables `QUOTEWIRE_CONNECTION_…` if one of them is set, otherwise from standard
 * input, as a JSON object or as lines `NAME=value`.
 *
 * Never from arguments, because other users can see those. No message repeats what was read.
 */
export const read = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const set = yield* Effect.forEach(names, fromVariable)
  const given = set.filter((value) => value !== null)
  return given.length > 0 ? Object.fromEntries(given) : yield* fromStandardInput(names)
})

/** The variable of a field: `api_key` is `QUOTEWIRE_CONNECTION_API_KEY`. */
const variable = (name: string): string => variableOf(`connection-${name}`)

const fromVariable = (name: string) =>
  Config.option(Config.Redacted(variable(name))).pipe(
    Effect.map((value) => (Option.isNone(value) ? null : ([name, Redacted.value(value.value)] as const))),
    Effect.mapError(() => new CommandFailed({ message: `${variable(name)} cannot be read.` }))
  )

const fromStandardInput = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
  if (yield* stdinIsTerminal) {
    yield* Console.error(
      `Type a line NAME=value for each of ${names.join(", ")}, then Ctrl-D. What you type is visible.`
    )
  }
  const bytes = yield* stdin.pipe(
    Stream.mapError(() => unreadable("cannot be read")),
    Stream.limitBytes(ByteSize.bytes(max_bytes), () => Stream.fail(unreadable(`must have at most ${max_bytes} bytes`))),
    Stream.mkUint8Array
  )
  const text = yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => unreadable("must be text in UTF-8")
  })
  return yield* Effect.fromResult(text.trimStart().startsWith("{") ? fromJson(text) : fromLines(text))
})

const unreadable = (what: string) => new CommandFailed({ message: `Standard input ${what}.` })

const fromJson = (text: string): Result.Result<unknown, CommandFailed> =>
  Result.try({ try: (): unknown => JSON.parse(text), catch: () => unreadable("must be JSON, or lines NAME=value") })

const fromLines = (text: string): Result.Result<unknown, CommandFailed> => {
  const values = new Map<string, string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue
    const at = line.indexOf("=")
    const name = line.slice(0, Math.max(0, at)).trim()
    if (name === "") return Result.fail(unreadable(`must be JSON, or lines NAME=value: line ${index + 1} is neither`))
    if (values.has(name)) return Result.fail(unreadable(`must give each name once: line ${index + 1} repeats one`))
    values.set(name, line.slice(at + 1))
  }
  return Result.succeed(Object.fromEntries(values))
}
