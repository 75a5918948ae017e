import { WebhookAddress } from "@quotewire/core"

/*
 * Decides where a POST goes: checks the URL, resolves its host, and checks every address.
 */

/** Resolves fully qualified names to addresses. A `Resolver` of `node:dns/promises`, or a replacement. */
export interface Resolver {
  readonly resolve4: (name: string) => Promise<ReadonlyArray<string>>
  readonly resolve6: (name: string) => Promise<ReadonlyArray<string>>
}

/**
 * The result of a lookup: the addresses to dial, all of them allowed, or the reason why there are no addresses.
 * `refused`: the policy refuses one of the addresses. `none`: the name has no addresses. `unavailable`: the name
 * servers did not respond.
 */
export type Resolution = ReadonlyArray<string> | "refused" | "none" | "unavailable"

/** Where a POST goes. */
export interface Destination {
  readonly origin: string
  /** The path and the query. */
  readonly path: string
  /** The addresses to dial. A promise, unless the URL contains an address instead of a host name. */
  readonly addresses: ReadonlyArray<string> | Promise<Resolution>
}

/** Finds a URL's destination and starts to resolve its host; null if the URL is refused. */
export type Find = (url: string) => Destination | null

/** How many URLs are cached with the result of their check. A few URLs receive most webhooks. */
const maxJudged = 1_000

/** Creates a function that finds destinations that a policy allows. */
export const make = (policy: WebhookAddress.Policy, resolver: Resolver, lookUpLimitMs?: number): Find => {
  const lookUp = lookingUp(resolver, policy, lookUpLimitMs)
  const judged = new Map<string, WebhookAddress.Verdict>()

  const judge = (url: string): WebhookAddress.Verdict => {
    const cached = judged.get(url)
    if (cached !== undefined) return cached
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

/** The maximum number of addresses that a name may have. */
const maxAnswers = 32
/** How long name servers may take to answer, in milliseconds. */
const defaultLimitMs = 5_000

/**
 * Creates a function that resolves names without a cache. Concurrent lookups of the same name share one query.
 *
 * If one address is refused, the name is refused. If the query for one address family times out, the other family's
 * response is used. That is safe, because only checked addresses are dialed.
 */
const lookingUp = (
  resolver: Resolver,
  policy: WebhookAddress.Policy,
  limitMs: number = defaultLimitMs
): ((name: string) => Promise<Resolution>) => {
  const pending = new Map<string, Promise<Resolution>>()
  return (name) => {
    const shared = pending.get(name)
    if (shared !== undefined) return shared
    const pendingLookUp = ask(resolver, name, limitMs).then((answers) => {
      pending.delete(name)
      return foundIn(answers, policy)
    })
    pending.set(name, pendingLookUp)
    return pendingLookUp
  }
}

/** The addresses of one family (IPv4 or IPv6); null if the query failed or timed out. */
type Answer = ReadonlyArray<string> | null

const ask = (resolver: Resolver, name: string, limitMs: number): Promise<ReadonlyArray<Answer>> =>
  new Promise((resolve) => {
    const answers: [Answer, Answer] = [null, null]
    let missingAnswers = answers.length
    const timer = setTimeout(() => resolve(answers), limitMs).unref()
    const settle = (family: 0 | 1) => (answer: Answer) => {
      answers[family] = answer
      if (--missingAnswers > 0) return
      clearTimeout(timer)
      resolve(answers)
    }
    // IPv4 addresses come first, because most hosts are reachable over IPv4.
    answerOf(() => resolver.resolve4(name)).then(settle(0))
    answerOf(() => resolver.resolve6(name)).then(settle(1))
  })

const answerOf = async (query: () => Promise<ReadonlyArray<string>>): Promise<Answer> => {
  try {
    return await query()
  } catch (error) {
    return isWithout(error) ? [] : null
  }
}

/** Whether the name servers reported that no record exists. This is a valid result, not a failure. */
const isWithout = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOTFOUND" || error.code === "ENODATA")

const foundIn = (answers: ReadonlyArray<Answer>, policy: WebhookAddress.Policy): Resolution => {
  const addresses = answers.flatMap((answer) => answer ?? [])
  if (addresses.length === 0) return answers.includes(null) ? "unavailable" : "none"
  if (addresses.length > maxAnswers) return "refused"
  const isPublic = (address: string) => WebhookAddress.judgeAddress(address, policy) === "public"
  return addresses.every(isPublic) ? addresses : "refused"
}
