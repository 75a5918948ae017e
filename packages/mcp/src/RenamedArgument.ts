import type { ApiError } from "@quotewire/core"
import type { Fields } from "./JsonRpc.ts"
import type { Arguments } from "./Tool.ts"

/**
 * An argument of a tool that has another name now.
 *
 * The old name is taken for the six months of notice, and then refused with a field error that names the new one
 * (api.md, Limits).
 */
export interface RenamedArgument {
  readonly tool: string
  readonly from: string
  readonly to: string
  /** The first moment at which the old name is refused, in milliseconds since 1970. */
  readonly until: number
}

/** Every argument that was renamed: none so far. */
export const renamedArguments: ReadonlyArray<RenamedArgument> = []

/** The arguments under their names of today, and those whose old names are not taken any more. */
export const rename = (
  renamed: ReadonlyArray<RenamedArgument>,
  args: Fields,
  now: number
): { readonly args: Arguments; readonly wrong: ReadonlyArray<ApiError.FieldError> } => {
  const sent = renamed.filter(({ from }) => Object.hasOwn(args, from))
  const isRefused = ({ to, until }: RenamedArgument) => now >= until || Object.hasOwn(args, to)
  const names = new Map(sent.filter((one) => !isRefused(one)).map(({ from, to }) => [from, to]))
  const refused = sent.filter(isRefused)
  return {
    args: Object.fromEntries(
      Object.entries(args)
        .filter(([name]) => !refused.some(({ from }) => from === name))
        .map(([name, value]) => [names.get(name) ?? name, value])
    ),
    wrong: refused.map(({ from, to }) => ({ path: from, message: `This field is called ${to} now.` }))
  }
}
