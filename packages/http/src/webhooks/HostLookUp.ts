import { WebhookAddress } from "@quotewire/core"

/** Resolves full names to addresses: a `Resolver` of `node:dns/promises`, or a replacement. */
export interface Resolver {
  readonly resolve4: (name: string) => Promise<ReadonlyArray<string>>
  readonly resolve6: (name: string) => Promise<ReadonlyArray<string>>
}

/** The most addresses that a name may have. */
const maxAnswers = 32
/** How long name servers may take, in milliseconds. */
const defaultLimitMs = 5_000

/**
 * The result of a lookup: the addresses to dial, all of them public, or the reason why there are none. `none`: the name
 * has no addresses. `unavailable`: try again later.
 */
export type Found = ReadonlyArray<string> | "refused" | "none" | "unavailable"

/**
 * Makes a function that resolves names without a cache. Concurrent lookups of the same name share one query.
 *
 * If one address is refused, the name is refused. If the query for one address family times out, the other family's
 * answer is used: only checked addresses are dialed.
 */
export const make = (
  resolver: Resolver,
  policy: WebhookAddress.Policy,
  limitMs: number = defaultLimitMs
): ((name: string) => Promise<Found>) => {
  const pending = new Map<string, Promise<Found>>()
  return (name) => {
    const shared = pending.get(name)
    if (shared !== undefined) return shared
    const asked = ask(resolver, name, limitMs).then((answers) => {
      pending.delete(name)
      return judge(answers, policy)
    })
    pending.set(name, asked)
    return asked
  }
}

/** The addresses of one family; null if it did not answer. */
type Answer = ReadonlyArray<string> | null

const ask = (resolver: Resolver, name: string, limitMs: number): Promise<ReadonlyArray<Answer>> =>
  new Promise((resolve) => {
    const answers: [Answer, Answer] = [null, null]
    let missing = answers.length
    const timer = setTimeout(() => resolve(answers), limitMs).unref()
    const settle = (family: 0 | 1) => (answer: Answer) => {
      answers[family] = answer
      if (--missing > 0) return
      clearTimeout(timer)
      resolve(answers)
    }
    // IPv4 first, because most hosts are reachable over it.
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

/** Whether the name servers report that no record exists. That is an answer too. */
const isWithout = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOTFOUND" || error.code === "ENODATA")

const judge = (answers: ReadonlyArray<Answer>, policy: WebhookAddress.Policy): Found => {
  const addresses = answers.flatMap((answer) => answer ?? [])
  if (addresses.length === 0) return answers.includes(null) ? "unavailable" : "none"
  if (addresses.length > maxAnswers) return "refused"
  const isPublic = (address: string) => WebhookAddress.judgeAddress(address, policy) === "public"
  return addresses.every(isPublic) ? addresses : "refused"
}
