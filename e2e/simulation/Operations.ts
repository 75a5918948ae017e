import { type Operation, operations } from "@quotewire/core"

type AnyOperation = (typeof operations)[number]
type Named<Name extends AnyOperation["name"]> = Extract<AnyOperation, { readonly name: Name }>

/** The operation with a name. */
export const operation = <Name extends AnyOperation["name"]>(name: Name): Named<Name> => {
  const found = operations.find((one): one is Named<Name> => one.name === name)
  if (found === undefined) throw new Error(`There is no operation ${name}`)
  return found
}

/** What an operation returns. */
export type Answer<Name extends AnyOperation["name"]> =
  Named<Name> extends Operation.Operation<string, unknown, infer Output, unknown> ? Output : never
