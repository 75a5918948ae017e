import type { ApiError } from "@quotewire/core"
import type { Fields } from "../protocol/JsonRpc.ts"
import type { Arguments } from "./Tool.ts"

/** How a tool's arguments map to a call of its operation. */
export interface ArgumentMapping {
  /** The arguments whose names differ from the operation's: the tool's name mapped to the operation's name. */
  readonly named: Readonly<Record<string, string>>
  /** Whether `read_handle` is an argument of the tool. Over HTTP it is a header. */
  readonly read_handle: boolean
  /** Whether the `request_key` argument is the call's `Idempotency-Key`. */
  readonly request_key: boolean
  /** Boolean arguments that affect only how the response is presented. They are not passed to the operation. */
  readonly shaping?: ReadonlyArray<string>
}

/** The arguments of one call, grouped by where they go, and the errors found. */
export interface SplitArguments {
  /** The input of the operation. */
  readonly input: Fields
  readonly read_handle: string | null
  readonly idempotency_key: string | null
  /** The arguments that affect only how the response is presented. */
  readonly shaping: Fields
  readonly wrong: ReadonlyArray<ApiError.FieldError>
}

/**
 * Splits arguments into the operation's input and the values that are headers over HTTP.
 *
 * Changes the arguments in place; the remaining arguments are the input.
 */
export const split = (mapping: ArgumentMapping, args: Arguments): SplitArguments => {
  const { read_handle, request_key } = args
  const shaping = (mapping.shaping ?? []).flatMap((name) =>
    Object.hasOwn(args, name) ? [[name, args[name]] as const] : []
  )
  const wrongFields = [
    // If the tool renames a field, the operation's own name for it is not accepted.
    ...Object.values(mapping.named)
      .filter((name) => Object.hasOwn(args, name))
      .map((path) => ({ path, message: "This field is not known." })),
    ...(mapping.read_handle ? notText("read_handle", read_handle) : []),
    ...(mapping.request_key ? notText("request_key", request_key) : []),
    ...shaping.flatMap(([path, value]) =>
      typeof value === "boolean" ? [] : [{ path, message: "Must be true or false." }]
    )
  ]
  if (mapping.read_handle) Reflect.deleteProperty(args, "read_handle")
  if (mapping.request_key) Reflect.deleteProperty(args, "request_key")
  for (const [name] of shaping) Reflect.deleteProperty(args, name)
  for (const [name, inner] of Object.entries(mapping.named)) {
    if (!Object.hasOwn(args, name)) continue
    args[inner] = args[name]
    Reflect.deleteProperty(args, name)
  }
  return {
    input: args,
    read_handle: mapping.read_handle ? textOf(read_handle) : null,
    idempotency_key: mapping.request_key ? textOf(request_key) : null,
    shaping: Object.fromEntries(shaping),
    wrong: wrongFields
  }
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

const notText = (path: string, value: unknown): ReadonlyArray<ApiError.FieldError> =>
  value === undefined || typeof value === "string" ? [] : [{ path, message: "Must be a string." }]

/** Translates the path of a refused field from the operation's names to the tool's names. */
export const toolPath = (mapping: ArgumentMapping, path: string): string => {
  if (mapping.request_key && path === "Idempotency-Key") return "request_key"
  const [first = "", ...rest] = path.split(".")
  const [name = first] = Object.entries(mapping.named).find(([, inner]) => inner === first) ?? []
  return [name, ...rest].join(".")
}
