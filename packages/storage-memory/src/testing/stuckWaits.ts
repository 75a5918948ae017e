import type { AnyLine, Client } from "@quotewire/core/client"

/**
 * Makes a client's waits for quotes reject if only the clock can end them and the clock stands still.
 *
 * Otherwise a test that forgets to move the clock would fail with its test runner's timeout, which does not say why.
 *
 * `standsAt` returns how far the clock has moved; null while it moves or jobs are running.
 */
export const rejectStuckWaits = <OwnLine extends AnyLine>(
  client: Client<OwnLine>,
  standsAt: () => number | null
): Client<OwnLine> => {
  const whileNotStuck = async <A>(
    signal: AbortSignal | undefined,
    wait: (signal: AbortSignal) => Promise<A>
  ): Promise<A> => {
    const stuck = new AbortController()
    let stoodAt: number | null = null
    const timer = setInterval(() => {
      const nowAt = standsAt()
      if (nowAt !== null && nowAt === stoodAt) stuck.abort(new Error(advice))
      stoodAt = nowAt
    }, lookEveryMs)
    try {
      return await wait(signal === undefined ? stuck.signal : AbortSignal.any([signal, stuck.signal]))
    } finally {
      clearInterval(timer)
    }
  }
  return {
    ...client,
    get_quote_request: (input, options) =>
      whileNotStuck(options?.signal, (signal) => client.get_quote_request(input, { ...options, signal })),
    wait_for_quotes: (id, options) =>
      whileNotStuck(options?.signal, (signal) => client.wait_for_quotes(id, { ...options, signal }))
  }
}

/** How often the clock is read, in milliseconds. A wait is stuck if the clock has not moved between two reads. */
const lookEveryMs = 1_000

const advice =
  "Your code waits for quotes, but nothing advances the sandbox's clock. Advance the clock while your code runs: await world.advanceUntil(yourCode(world.client))."
