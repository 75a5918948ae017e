import { after } from "./Hosts.ts"

/** An answer that was received whole. */
export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what a host answers is judged by the audit
  readonly body: any
}

/** What goes with a call. */
export interface Sent {
  readonly method?: "GET" | "POST"
  readonly body?: object
  readonly idempotency_key?: string
}

const gives_up_after_ms = 180_000
const until = (ms: number) => {
  const ends_at = Date.now() + ms
  return () => Date.now() < ends_at
}

const isToBeRepeated = ({ body }: Answer): boolean => body?.error?.retry_action?.type === "wait"

/** Told of an answer that names an outage: a 503. */
export type OnOutage = (why: string) => void

/** Longer than a host waits for what a dead one has held. */
const answers_within_ms = 40_000

/**
 * Calls hosts as the guide tells callers to: what gets no answer, or a 503, is sent again, the same, to the next host.
 */
export class Caller {
  /** Why calls were sent again, one line each. */
  readonly repeats: Array<string> = []
  private turn = 0
  private readonly base_urls: ReadonlyArray<string>
  private readonly key: string
  private readonly onOutage: OnOutage

  constructor(base_urls: ReadonlyArray<string>, key: string, onOutage: OnOutage = () => undefined) {
    this.base_urls = base_urls
    this.key = key
    this.onOutage = onOutage
  }

  /** Calls until there is an answer, as long as it is worth waiting for: three minutes unless told. */
  async call(path: string, sent: Sent = {}, waits: () => boolean = until(gives_up_after_ms)): Promise<Answer> {
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
    throw new Error(`No answer to ${path}`)
  }

  /** The answer, or why there is none. */
  private async once(path: string, { method = "GET", body, idempotency_key }: Sent): Promise<Answer | string> {
    const base_url = this.base_urls[this.turn++ % this.base_urls.length]
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}`, "content-type": "application/json" }
    if (idempotency_key !== undefined) headers["idempotency-key"] = idempotency_key
    try {
      const response = await fetch(`${base_url}${path}`, {
        method,
        headers,
        signal: AbortSignal.timeout(answers_within_ms),
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      return { status: response.status, body: await response.json() }
    } catch (error) {
      return `${error} ${error instanceof Error ? error.cause : ""}`
    }
  }
}
