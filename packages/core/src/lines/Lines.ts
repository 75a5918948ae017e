import { Context, Result } from "effect"
import { type ApiError, invalidInput } from "../wire/ApiError.ts"
import { notAllowed } from "../wire/FieldError.ts"
import type { Line } from "./Line.ts"
import { standardLines } from "./standard.ts"

/** A host's lines by name, in the order in which the host lists them. */
export type LineSet = ReadonlyMap<string, Line>

/** Makes a set of lines that keeps their order. */
export const linesOf = (lines: ReadonlyArray<Line>): LineSet => new Map(lines.map((line) => [line.name, line]))

/** The set of the standard lines. */
export const standard: LineSet = linesOf(standardLines)

/** The lines that a host offers; by default the standard lines. `Quotewire.lines` provides a configuration's lines. */
export const Lines = Context.Reference<LineSet>("@quotewire/core/Lines", { defaultValue: () => standard })

/** Finds the line with this name. Fails with an error about `line` if the host does not offer the line. */
export const find = (lines: LineSet, name: string): Result.Result<Line, ApiError<"invalid_input">> => {
  const line = lines.get(name)
  return line === undefined ? Result.fail(unknownLine(lines.keys())) : Result.succeed(line)
}

/** The error for a line that the host does not offer. */
export const unknownLine = (offered: Iterable<string>): ApiError<"invalid_input"> =>
  invalidInput([{ path: "line", message: notAllowed, allowed_values: [...offered] }])

/**
 * Wraps a function that makes a value from a host's lines. The value is made when it is first needed, and kept as long
 * as the lines are in use.
 */
export const oncePerLines = <A>(make: (lines: LineSet) => A): ((lines: LineSet) => A) => {
  const computed = new WeakMap<LineSet, { readonly value: A }>()
  return (lines) => {
    const cached = computed.get(lines) ?? { value: make(lines) }
    computed.set(lines, cached)
    return cached.value
  }
}
