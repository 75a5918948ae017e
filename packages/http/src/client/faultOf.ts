/** How many nested causes are kept. */
const max_causes = 5

/**
 * What `fetch` has thrown, as the cause of an error: name, message, code and stack, and the same of its causes.
 *
 * Anything else is left out, and the secrets are cut out of the texts: the error of a program's own `fetch` often carries the
 * request, and the request has the key. Never throws.
 */
export const faultOf = (thrown: unknown, secrets: ReadonlyArray<string>): Error => {
  try {
    return copyOf(thrown, secrets, max_causes)
  } catch {
    return new Error("What fetch has thrown cannot be read.")
  }
}

const copyOf = (thrown: unknown, secrets: ReadonlyArray<string>, causes: number): Error => {
  const without = (text: unknown) => secrets.reduce((left, secret) => left.replaceAll(secret, "…"), String(text))
  if (!(thrown instanceof Error)) return new Error(`fetch has thrown a value that is no error: ${without(thrown)}`)
  const { cause, message, name, stack } = thrown
  const copy = new Error(without(message))
  copy.name = without(name)
  // Not enumerable, as in other errors.
  Object.defineProperty(copy, "stack", { value: without(stack), configurable: true, writable: true })
  if ("code" in thrown && typeof thrown.code === "string") Object.assign(copy, { code: without(thrown.code) })
  if (cause !== undefined && causes > 1) copy.cause = copyOf(cause, secrets, causes - 1)
  return copy
}
