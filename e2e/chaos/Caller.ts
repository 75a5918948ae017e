import { after } from "./Hosts.ts"

/** A completely received response. */
export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what a host returns is judged by the audit
  readonly body: any
}

/** The input of a call. */
export interface Sent {
  readonly method?: "GET" | "POST"
  readonly body?: object
  readonly idempotency_key?: string
  /** The call times out and is retried after this time; fifteen seconds by default. */
  readonly within_ms?: number
}

const givesUpAfterMs = 180_000
const until = (ms: number) => {
  const endsAt = Date.now() + ms
  return () => Date.now() < endsAt
}

const isToBeRepeated = ({ body }: Answer): boolean => body?.error?.retry_action?.type === "wait"

/** Called with each response that reports an outage (a 503). */
export type OnOutage = (why: string) => void

/** Longer than a host takes for any call except a clock advance. */
const answersWithinMs = 15_000

/**
 * Calls hosts as the guide tells callers to: retries a call that gets a 503 or no response, unchanged, on the next
 * host.
 */
export class Caller {
  /** Why calls were retried, one line each. */
  readonly repeats: Array<string> = []
  private turn = 0
  private readonly base_urls: ReadonlyArray<string>
  private readonly key: string
  private readonly onOutage: OnOutage

  constructor(baseUrls: ReadonlyArray<string>, key: string, onOutage: OnOutage = () => undefined) {
    this.base_urls = baseUrls
    this.key = key
    this.onOutage = onOutage
  }

  /** Calls until there is a response, for as long as `waits` returns true; three minutes by default. */
  async call(path: string, sent: Sent = {}, waits: () => boolean = until(givesUpAfterMs)): Promise<Answer> {
    while (waits()) {
      const answer = await this.once(path, sent)
      if (typeof answer !== "string") {
        if (answer.status < 500 && !isToBeRepeated(answer)) return answer
        if (answer.status === 500) throw new Error(`500 for ${path}: ${JSON.stringify(answer.body)}`)
      }
      const why = `${path}: ${typeof answer === "string" ? answer : JSON.stringify(answer)}`
      this.repeats.push(why)
      if (typeof answer !== "string" && answer.status === 503) this.onOutage(why)
      await after(100)
    }
    throw new Error(`No response to ${path}; the last one was ${this.repeats.at(-1)}`)
  }

  /** The response, or why there is none. */
  private async once(path: string, sent: Sent): Promise<Answer | string> {
    const { method = "GET", body, idempotency_key, within_ms = answersWithinMs } = sent
    const baseUrl = this.base_urls[this.turn++ % this.base_urls.length]
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}`, "content-type": "application/json" }
    if (idempotency_key !== undefined) headers["idempotency-key"] = idempotency_key
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers,
        signal: AbortSignal.timeout(within_ms),
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      return { status: response.status, body: await response.json() }
    } catch (error) {
      return `${error} ${error instanceof Error ? error.cause : ""}`
    }
  }
}
