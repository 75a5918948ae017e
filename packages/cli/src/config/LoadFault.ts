import { spawnSync } from "node:child_process"
import { dirname, sep } from "node:path"
import { fileURLToPath } from "node:url"

/**
 * Describes in one sentence why and where loading a configuration file failed: it does not compile, an import fails, or
 * its code throws.
 *
 * If the file's own code throws, the sentence repeats the error's message, because only that code knows what is
 * missing.
 */
export const sentence = (thrown: unknown, file: string, showPath: (file: string) => string): string => {
  if (!(thrown instanceof Error)) return `${showPath(file)} throws ${kindOf(thrown)} while it loads.`
  const showPlace = (place: SourcePosition) => `${showPath(place.file)}${place.place}`
  const message = messageOf(thrown)
  const thrownAt = placeOfThrow(thrown, file)
  if (thrownAt !== null) return `${showPlace(thrownAt)} throws while it loads: ${thrown.name}: ${message}`
  if (thrown.name !== "SyntaxError") return `${showPath(file)} cannot be loaded: ${message}`
  const writtenAt = placeOfSyntax(thrown.stack ?? "") ?? placeByCheck(file)
  if (writtenAt !== null) return `${showPlace(writtenAt)} does not compile: ${message}`
  return `${showPath(file)}, or a file that it imports, does not compile: ${message}`
}

/** A file and a position in it, such as `:12` or `:12:5`. */
interface SourcePosition {
  readonly file: string
  readonly place: string
}

const maxCharacters = 2_000

const cut = (message: string): string =>
  message.length <= maxCharacters ? message : `${message.slice(0, maxCharacters)}…`

/** An error's message, including its cause's message. */
const messageOf = (thrown: Error): string => {
  const { cause } = thrown
  return cut(cause instanceof Error ? `${withoutQuotes(thrown)} (${withoutQuotes(cause)})` : withoutQuotes(thrown))
}

/** Removes the source text that JavaScript quotes in syntax errors, because it may be a secret. */
const withoutQuotes = (error: Error): string => {
  if (!(error instanceof SyntaxError)) return error.message
  return error.message
    .replace(/^Unexpected identifier '.*'$/s, "Unexpected identifier")
    .replace(/^.* is not valid JSON$/s, "Some text is not valid JSON")
}

const kindOf = (thrown: unknown): string =>
  typeof thrown === "string" ? cut(`"${thrown}"`) : "a value that is not an Error"

const pathOf = (url: string): string => (url.startsWith("file:") ? fileURLToPath(url) : url)

const frame = /^\s*at (?:.*\()?(file:\/\/.+?|\/.+?|[A-Za-z]:\\.+?)(:\d+:\d+)\)?$/

/**
 * Where code threw: the first stack frame in the configuration's folder, otherwise the first frame; null if no code
 * ran.
 *
 * Frames after Node's module loader are ignored, because they belong to the program that imports the file.
 */
const placeOfThrow = ({ message, stack = "" }: Error, file: string): SourcePosition | null => {
  const lines = stack.slice(Math.max(0, stack.indexOf(message)) + message.length).split("\n")
  const loader = lines.findIndex((line) => line.includes("node:internal/modules/"))
  const places = (loader < 0 ? lines : lines.slice(0, loader)).flatMap((line) => {
    const [, url, place] = frame.exec(line) ?? []
    return url === undefined || place === undefined ? [] : [{ file: pathOf(url), place }]
  })
  const folder = `${dirname(file)}${sep}`
  const isOwn = (place: SourcePosition) =>
    place.file.startsWith(folder) && !place.file.includes(`${sep}node_modules${sep}`)
  return places.find(isOwn) ?? places[0] ?? null
}

/** Parses the position at the beginning of Node's report about a file, such as `file:///folder/file.mjs:3`. */
const placeOfSyntax = (report: string): SourcePosition | null => {
  const [, url, place] = /^(file:\/\/.+|\/.+|[A-Za-z]:\\.+)(:\d+)$/m.exec(report) ?? []
  return url === undefined || place === undefined ? null : { file: pathOf(url), place }
}

/** Finds a syntax error with `node --check`, because Node does not tell an importer where the error is. */
const placeByCheck = (file: string): SourcePosition | null => {
  const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8", timeout: 5_000 })
  return placeOfSyntax(stderr)
}
