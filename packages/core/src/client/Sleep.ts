/** Resolves after a time in milliseconds. Rejects with the signal's reason when that is aborted. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>
