/**
 * Copies an input, because the program may change it during the call. An input that cannot be copied is refused by the
 * check that follows.
 */
export const snapshot = (input: unknown): unknown => {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}
