import { operations } from "@quotewire/core"

type AnyOperation = (typeof operations)[number]

/** Finds an operation by its name, because its index in the list may change. */
export const named = <Name extends AnyOperation["name"]>(
  name: Name
): Extract<AnyOperation, { readonly name: Name }> => {
  const namedOperation = operations.find(
    (operation): operation is Extract<AnyOperation, { readonly name: Name }> => operation.name === name
  )
  if (namedOperation === undefined) throw new Error(`There is no operation ${name}`)
  return namedOperation
}
