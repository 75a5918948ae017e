import { Context, Result } from "effect"
import { type ApiError, invalidInput } from "../wire/ApiError.ts"
import type { Line } from "./Line.ts"
import { type LineName, standardLines } from "./standard.ts"

/** The lines of a host, by name, in the order in which they are listed. */
export type LineSet = ReadonlyMap<string, Line<LineName>>

/** Makes a set of lines. */
export const linesOf = (lines: ReadonlyArray<Line<LineName>>): LineSet =>
  new Map(lines.map((line) => [line.name, line]))

/** The lines that a host offers; by default the standard lines. */
export const Lines = Context.Reference<LineSet>("@quotewire/core/Lines", {
  defaultValue: () => linesOf(standardLines)
})

/** The line with this name. If the host does not offer it, a refusal at `line`. */
export const find = (lines: LineSet, name: string): Result.Result<Line<LineName>, ApiError<"invalid_input">> => {
  const line = lines.get(name)
  if (line !== undefined) return Result.succeed(line)
  const allowed_values = [...lines.keys()]
  return Result.fail(invalidInput([{ path: "line", message: "Must be one of the allowed values.", allowed_values }]))
}
