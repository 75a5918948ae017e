import { Context, Result } from "effect"
import { type ApiError, invalidInput } from "../wire/ApiError.ts"
import type { Line } from "./Line.ts"
import { standardLines } from "./standard.ts"

/** The lines of a host, by name, in the order in which they are listed. */
export type LineSet = ReadonlyMap<string, Line>

/** Makes a set of lines. */
export const linesOf = (lines: ReadonlyArray<Line>): LineSet => new Map(lines.map((line) => [line.name, line]))

/** The set of the standard lines. */
export const standard: LineSet = linesOf(standardLines)

/** The lines that a host offers; by default the standard lines. `Quotewire.lines` checks those of a configuration. */
export const Lines = Context.Reference<LineSet>("@quotewire/core/Lines", { defaultValue: () => standard })

/** The line with this name. If the host does not offer it, a refusal at `line`. */
export const find = (lines: LineSet, name: string): Result.Result<Line, ApiError<"invalid_input">> => {
  const line = lines.get(name)
  return line === undefined ? Result.fail(unknownLine(lines.keys())) : Result.succeed(line)
}

/** The refusal of a line that is not among those that the host offers. */
export const unknownLine = (offered: Iterable<string>): ApiError<"invalid_input"> =>
  invalidInput([{ path: "line", message: "Must be one of the allowed values.", allowed_values: [...offered] }])

/** Makes something of a host's lines once, when it is first needed, and keeps it as long as the lines are used. */
export const oncePerLines = <A>(make: (lines: LineSet) => A): ((lines: LineSet) => A) => {
  const made = new WeakMap<LineSet, { readonly value: A }>()
  return (lines) => {
    const known = made.get(lines) ?? { value: make(lines) }
    made.set(lines, known)
    return known.value
  }
}
