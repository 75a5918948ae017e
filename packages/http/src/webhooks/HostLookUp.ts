import { WebhookAddress } from "@quotewire/core"

/** Asks name servers for the addresses of a whole name: a `Resolver` of `node:dns/promises`, or what stands in for it. */
export interface Resolver {
  readonly resolve4: (name: string) => Promise<ReadonlyArray<string>>
  readonly resolve6: (name: string) => Promise<ReadonlyArray<string>>
}

/** The most answers that a name may have: nobody's endpoint needs more. */
const max_answers = 32
/** How long name servers may take, in milliseconds. */
const default_limit_ms = 5_000

/**
 * What a host's name comes to: the addresses to dial, every one of them public; or why there are none. `none` is a name
 * without addresses, `unavailable` is worth another try.
 */
export type Found = ReadonlyArray<string> | "refused" | "none" | "unavailable"

/**
 * Makes a look-up of names, each asked for anew every time; who asks for one that is being asked for joins in.
 *
 * One refused address refuses the name. A family that does not answer in time is done without where the other one has
 * answered: nothing is dialed but what was judged.
 */
export const make = (
  resolver: Resolver,
  policy: WebhookAddress.Policy,
  limit_ms: number = default_limit_ms
): ((name: string) => Promise<Found>) => {
  const asking = new Map<string, Promise<Found>>()
  return (name) => {
    const joined = asking.get(name)
    if (joined !== undefined) return joined
    const asked = ask(resolver, name, limit_ms).then((answers) => {
      asking.delete(name)
      return judge(answers, policy)
    })
    asking.set(name, asked)
    return asked
  }
}

/** What one family came to; null where it did not answer. */
type Answer = ReadonlyArray<string> | null

const ask = (resolver: Resolver, name: string, limit_ms: number): Promise<ReadonlyArray<Answer>> =>
  new Promise((resolve) => {
    const answers: [Answer, Answer] = [null, null]
    let missing = answers.length
    const timer = setTimeout(() => resolve(answers), limit_ms).unref()
    const note = (family: 0 | 1) => (answer: Answer) => {
      answers[family] = answer
      if (--missing > 0) return
      clearTimeout(timer)
      resolve(answers)
    }
    // IPv4 first: it is what reaches most hosts.
    answerOf(() => resolver.resolve4(name)).then(note(0))
    answerOf(() => resolver.resolve6(name)).then(note(1))
  })

const answerOf = async (query: () => Promise<ReadonlyArray<string>>): Promise<Answer> => {
  try {
    return await query()
  } catch (error) {
    return isWithout(error) ? [] : null
  }
}

/** Whether name servers say that there is nothing, which is an answer too. */
const isWithout = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOTFOUND" || error.code === "ENODATA")

const judge = (answers: ReadonlyArray<Answer>, policy: WebhookAddress.Policy): Found => {
  const addresses = answers.flatMap((answer) => answer ?? [])
  if (addresses.length === 0) return answers.includes(null) ? "unavailable" : "none"
  if (addresses.length > max_answers) return "refused"
  const isFit = (address: string) => WebhookAddress.judgeAddress(address, policy) === "public"
  return addresses.every(isFit) ? addresses : "refused"
}
