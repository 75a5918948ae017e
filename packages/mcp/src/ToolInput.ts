import type { ApiError } from "@quotewire/core"
import type { Fields } from "./JsonRpc.ts"
import type { Arguments as Sent } from "./Tool.ts"

/** How the arguments of a tool map to the parts of a call. */
export interface Arguments {
  /** Renamed arguments: the name in the tool, and the name in the operation's input. */
  readonly named: Readonly<Record<string, string>>
  /** Whether `read_handle` is an argument. Over HTTP it is a header. */
  readonly read_handle: boolean
  /** Whether `request_key` is the `Idempotency-Key`. */
  readonly request_key: boolean
  /** Booleans that only shape the answer. The operation does not get them. */
  readonly shaping?: ReadonlyArray<string>
}

/** The parts of a call from its arguments, and the errors in them. */
export interface SplitArguments {
  readonly input: Fields
  readonly read_handle: string | null
  readonly idempotency_key: string | null
  /** The arguments that only shape the answer. */
  readonly shaping: Fields
  readonly wrong: ReadonlyArray<ApiError.FieldError>
}

/**
 * Splits arguments into the parts that are headers over HTTP and the operation's input.
 *
 * Changes the arguments in place: what remains is the input.
 */
export const split = (spec: Arguments, args: Sent): SplitArguments => {
  const { read_handle, request_key } = args
  const shaping = (spec.shaping ?? []).flatMap((name) =>
    Object.hasOwn(args, name) ? [[name, args[name]] as const] : []
  )
  const wrong = [
    ...[...new Set(Object.values(spec.named))]
      .filter((name) => Object.hasOwn(args, name))
      .map((path) => ({ path, message: "This field is not known." })),
    ...(spec.read_handle ? notText("read_handle", read_handle) : []),
    ...(spec.request_key ? notText("request_key", request_key) : []),
    ...shaping.flatMap(([path, value]) =>
      typeof value === "boolean" ? [] : [{ path, message: "Must be true or false." }]
    )
  ]
  if (spec.read_handle) Reflect.deleteProperty(args, "read_handle")
  if (spec.request_key) Reflect.deleteProperty(args, "request_key")
  for (const [name] of shaping) Reflect.deleteProperty(args, name)
  for (const [name, inner] of Object.entries(spec.named)) {
    if (!Object.hasOwn(args, name)) continue
    args[inner] = args[name]
    Reflect.deleteProperty(args, name)
  }
  return {
    input: args,
    read_handle: spec.read_handle ? textOf(read_handle) : null,
    idempotency_key: spec.request_key ? textOf(request_key) : null,
    shaping: Object.fromEntries(shaping),
    wrong
  }
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

const notText = (path: string, value: unknown): ReadonlyArray<ApiError.FieldError> =>
  value === undefined || typeof value === "string" ? [] : [{ path, message: "Must be a string." }]

/** Translates the path of a refused field to the tool's arguments. */
export const toolPath = (spec: Arguments, path: string): string => {
  if (spec.request_key && path === "Idempotency-Key") return "request_key"
  const [first = "", ...rest] = path.split(".")
  const [name = first] = Object.entries(spec.named).find(([, inner]) => inner === first) ?? []
  return [name, ...rest].join(".")
}
