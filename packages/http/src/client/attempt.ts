import { ApiError } from "./ApiError.ts"
import * as answer from "./answer.ts"
import { faultOf } from "./faultOf.ts"
import { HostError } from "./HostError.ts"
import type { CallRequest } from "./request.ts"
import type { ClientRoute } from "./routes.ts"
import type { Transport } from "./Transport.ts"

/** Where and how an attempt is sent, and how long it may take. */
interface AttemptSettings {
  readonly base_url: string
  readonly transport: Transport
  readonly timeout_ms: number
}

/**
 * Sends a call's request once, and resolves with the host's response.
 *
 * Rejects with an `ApiError` or a `HostError`, or with the signal's reason when the signal is aborted.
 */
export const attempt = async (
  { base_url, timeout_ms, transport }: AttemptSettings,
  { takes_ms = 0 }: ClientRoute,
  { body, headers, method, origin, path, secrets }: CallRequest,
  signal: AbortSignal | undefined
): Promise<answer.Answer> => {
  const controller = new AbortController()
  const atMostMs = timeout_ms + takes_ms
  const timer = setTimeout(() => controller.abort(timedOut(base_url, atMostMs)), atMostMs)
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener("abort", abort, { once: true })
  try {
    return await unlessAborted(controller.signal, async () => {
      const response = await transport({ origin, path, method, headers, body, signal: controller.signal })
      return answer.read(response, base_url)
    })
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    if (error instanceof ApiError || error instanceof HostError) throw error
    throw unreachable(base_url, faultOf(error, secrets))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener("abort", abort)
  }
}

/**
 * Runs `work`, but rejects with the signal's reason as soon as the signal is aborted, because a custom transport may
 * ignore the signal.
 */
const unlessAborted = <A>(signal: AbortSignal, work: () => Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    // Listens before the work begins, because the work may itself abort the signal.
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    work().then(resolve, reject)
  })

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
