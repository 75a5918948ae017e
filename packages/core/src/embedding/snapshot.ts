/**
 * Copies an input, because the program may change it during the call. If copying fails, the check of the input refuses
 * it.
 */
export const snapshot = (input: unknown): unknown => {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}
