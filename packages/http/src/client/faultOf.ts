/** How many nested causes are kept. */
const maxCauses = 5

/**
 * Copies an error that `fetch` or a transport threw, for use as a cause. Keeps the name, message, code, stack and causes.
 *
 * Omits all other fields and removes the secrets from the strings: the errors of some HTTP clients contain the request,
 * and the request contains the key. Never throws.
 */
export const faultOf = (thrown: unknown, secrets: ReadonlyArray<string>): Error => {
  try {
    return copyOf(thrown, secrets, maxCauses)
  } catch {
    return new Error("Sending the request failed with a value that cannot be read.")
  }
}

const copyOf = (thrown: unknown, secrets: ReadonlyArray<string>, causes: number): Error => {
  const withoutSecrets = (text: unknown) =>
    secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "…"), String(text))
  if (!(thrown instanceof Error))
    return new Error(`Sending the request failed with a value that is not an error: ${withoutSecrets(thrown)}`)
  const { cause, message, name, stack } = thrown
  const copy = new Error(withoutSecrets(message))
  copy.name = withoutSecrets(name)
  // The copied stack is not enumerable, like every error's own stack.
  Object.defineProperty(copy, "stack", { value: withoutSecrets(stack), configurable: true, writable: true })
  if ("code" in thrown && typeof thrown.code === "string") Object.assign(copy, { code: withoutSecrets(thrown.code) })
  if (cause !== undefined && causes > 1) copy.cause = copyOf(cause, secrets, causes - 1)
  return copy
}
