import { ApiError } from "./ApiError.ts"
import * as answer from "./answer.ts"
import { faultOf } from "./faultOf.ts"
import { HostError } from "./HostError.ts"
import type { CallRequest } from "./request.ts"
import type { ClientRoute } from "./routes.ts"

/** Where and how an attempt is sent, and how long it may take. */
interface AttemptSettings {
  readonly base_url: string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly timeout_ms: number
}

/**
 * Sends a call's request once, and resolves with the host's response.
 *
 * Rejects with an `ApiError` or a `HostError`, or with the signal's reason when the signal is aborted.
 */
export const attempt = async (
  { base_url, fetch: send, timeout_ms }: AttemptSettings,
  { takes_ms = 0 }: ClientRoute,
  { body, headers, method, secrets, target }: CallRequest,
  signal: AbortSignal | undefined
): Promise<answer.Answer> => {
  const controller = new AbortController()
  const atMostMs = timeout_ms + takes_ms
  const timer = setTimeout(() => controller.abort(timedOut(base_url, atMostMs)), atMostMs)
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener("abort", abort, { once: true })
  const init = {
    method,
    headers,
    redirect: "manual",
    signal: controller.signal,
    ...(body !== null && { body })
  } as const
  try {
    const exchange = async () => answer.read(await send(`${base_url}${target}`, init), base_url)
    // A race, because a custom `fetch` may ignore the signal. `abortOf` must listen first, because `fetch` may itself
    // abort the signal.
    return await Promise.race([abortOf(controller.signal), exchange()])
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    if (error instanceof ApiError || error instanceof HostError) throw error
    throw unreachable(base_url, faultOf(error, secrets))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", abort)
  }
}

/** Rejects with the signal's reason when it is aborted. */
const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))

const timedOut = (baseUrl: string, atMostMs: number) =>
  new HostError({
    reason: "timed_out",
    message: `The host at ${baseUrl} did not respond within ${atMostMs} ms.`,
    retry_action: "retry"
  })

const unreachable = (baseUrl: string, cause: Error) =>
  new HostError({
    reason: "unreachable",
    message: `Cannot reach the host at ${baseUrl}${codeOf(cause)}.`,
    retry_action: "retry",
    cause
  })

/** Formats the system's error code, such as ECONNREFUSED, which `fetch` reports in the cause of its error. */
const codeOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : null
  const named = [error, cause].find(
    (candidate) => candidate instanceof Error && "code" in candidate && isSystemCode(candidate.code)
  )
  return named instanceof Error && "code" in named ? ` (${String(named.code)})` : ""
}

const isSystemCode = (code: unknown): boolean => typeof code === "string" && /^[A-Z_]+$/.test(code)
