import type { ApiError } from "@quotewire/core"
import type { Fields } from "../protocol/JsonRpc.ts"
import type { Arguments } from "./Tool.ts"

/**
 * A renamed argument of a tool.
 *
 * Tools accept the old name for six months. Then they refuse it with a field error that mentions the new name (api.md,
 * Tools).
 */
export interface RenamedArgument {
  readonly tool: string
  readonly from: string
  readonly to: string
  /** When tools begin to refuse the old name, in milliseconds since 1970. */
  readonly until: number
}

/** All renamed arguments; currently none. */
export const renamedArguments: ReadonlyArray<RenamedArgument> = []

/** Renames arguments with old names. Returns the arguments whose old name is no longer accepted. */
export const rename = (
  renamed: ReadonlyArray<RenamedArgument>,
  args: Fields,
  now: number
): { readonly args: Arguments; readonly wrong: ReadonlyArray<ApiError.FieldError> } => {
  const outdated = renamed.filter(({ from }) => Object.hasOwn(args, from))
  const isRefused = ({ to, until }: RenamedArgument) => now >= until || Object.hasOwn(args, to)
  const names = new Map(outdated.filter((argument) => !isRefused(argument)).map(({ from, to }) => [from, to]))
  const refused = outdated.filter(isRefused)
  return {
    args: Object.fromEntries(
      Object.entries(args)
        .filter(([name]) => !refused.some(({ from }) => from === name))
        .map(([name, value]) => [names.get(name) ?? name, value])
    ),
    wrong: refused.map(({ from, to }) => ({ path: from, message: `This field is now called ${to}.` }))
  }
}
