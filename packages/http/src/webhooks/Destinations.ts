import { WebhookAddress } from "@quotewire/core"
import * as HostLookUp from "./HostLookUp.ts"

/** Where a POST goes. */
export interface Destination {
  readonly origin: string
  /** Path and query. */
  readonly path: string
  /** The addresses to dial: immediately if the URL contains one, otherwise once the host is resolved. */
  readonly addresses: ReadonlyArray<string> | Promise<HostLookUp.Found>
}

/** Finds the destination of a URL and starts to resolve its host; null if the URL is refused. */
export type Find = (url: string) => Destination | null

/** How many URLs are cached with their verdicts: the same few receive most webhooks. */
const maxJudged = 1_000

/** Makes a finder that allows the destinations of a policy. */
export const make = (policy: WebhookAddress.Policy, resolver: HostLookUp.Resolver, lookUpLimitMs?: number): Find => {
  const lookUp = HostLookUp.make(resolver, policy, lookUpLimitMs)
  const judged = new Map<string, WebhookAddress.Verdict>()

  const judge = (url: string): WebhookAddress.Verdict => {
    const known = judged.get(url)
    if (known !== undefined) return known
    const verdict = WebhookAddress.judgeUrl(url, policy)
    const [oldest] = judged.size < maxJudged ? [] : judged.keys()
    if (oldest !== undefined) judged.delete(oldest)
    judged.set(url, verdict)
    return verdict
  }

  return (text) => {
    const judgement = judge(text)
    if (judgement.verdict === "refused") return null
    const { origin, path, hostname, addresses } = judgement.url
    return { origin, path, addresses: addresses ?? lookUp(hostname) }
  }
}
