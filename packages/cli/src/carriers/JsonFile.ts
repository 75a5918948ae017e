import { Effect, FileSystem, Path } from "effect"
import * as ConfigFile from "../config/ConfigFile.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"

/** The maximum size of a file, in bytes. */
const maxBytes = 10_000_000

/** Reads a JSON file. Errors name the setting, `contentName`, such as `<file>`. They never repeat the file's text. */
export const read = Effect.fnUntraced(function* (path: string, contentName: string) {
  const files = yield* FileSystem.FileSystem
  const unreadable = () => new CommandFailed({ message: `${contentName} must be a readable file.` })
  const { size } = yield* Effect.mapError(files.stat(path), unreadable)
  if (size > maxBytes) return yield* new CommandFailed({ message: `${contentName} must not be larger than 10 MB.` })
  const text = yield* Effect.mapError(files.readFileString(path), unreadable)
  const paths = yield* Path.Path
  const shownPath = ConfigFile.shownFrom(paths)(paths.resolve(path))
  return yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) =>
      new CommandFailed({ message: `${contentName} must be JSON: ${shownPath} has a syntax error${placeOf(error)}.` })
  })
})

/**
 * The position at which the parser stopped. The rest of its message is dropped, because it may repeat the file's text.
 */
const placeOf = (error: unknown): string => {
  const [, line, column] = (error instanceof Error && /line (\d+) column (\d+)/.exec(error.message)) || []
  return line === undefined ? "" : ` at line ${line}, column ${column}`
}
