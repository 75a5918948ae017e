import { type AnyOperation, type CallOptions, type Client, makeClient } from "../../src/client/index.ts"

/** A call that a client has made. */
export interface Made {
  readonly name: AnyOperation["name"]
  readonly input: unknown
  readonly options: CallOptions
  readonly at_ms: number
}

/** The outcome of one call: an answer, an error, or no answer until the call is aborted. */
export type Step = object | Error | "hangs"

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal?.addEventListener("abort", () => reject(signal.reason))
  })

const hang = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))

/** A client of a service that plays these steps, call by call. After them, it repeats the last one. */
export const scripted = (...steps: ReadonlyArray<Step>): { readonly client: Client; readonly calls: Array<Made> } => {
  const calls: Array<Made> = []
  const client = makeClient({
    names: ["get_quote_request", "list_events"],
    sleep,
    call: async (name, input, options) => {
      options.signal?.throwIfAborted()
      calls.push({ name, input, options, at_ms: Date.now() })
      const step = steps[Math.min(calls.length, steps.length) - 1]
      if (step instanceof Error) throw step
      return step === "hangs" ? hang(options.signal) : step
    }
  })
  return { client, calls }
}

/** An error that says whether a retry can help. */
export const failing = (retry_action: string, retry_after_seconds: number | null = null): Error =>
  Object.assign(new Error(`fails: ${retry_action}`), { retry_action, retry_after_seconds })
