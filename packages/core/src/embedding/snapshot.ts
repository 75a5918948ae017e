/**
 * Copies an input, because the program may change it during the call. An input that cannot be copied is returned
 * unchanged, and the next check refuses it.
 */
export const snapshot = (input: unknown): unknown => {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}
