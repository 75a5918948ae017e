/** Waits for a time in milliseconds. Rejects with the signal's reason if the signal aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>
