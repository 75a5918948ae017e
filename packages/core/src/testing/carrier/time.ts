import { Clock, Context, Effect } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { CarrierTransport } from "../../carriers/CarrierTransport.ts"

/* The time in a case. Each case has its own clock, which moves only when the case lets it. */

/** How far the clock moves in each turn of the event loop, in milliseconds. */
const lapseMs = 50

/** A clock that shows real time. */
const real = Clock.Clock.defaultValue()

/** Waits for one turn of the event loop, so that promises and sockets can make progress. */
const turn = Effect.provideService(Effect.sleep(1), Clock.Clock, real)

/** Whether a case has sent anything over the network. */
const Network = Context.Reference<{ used: boolean }>("@quotewire/core/testing/Network", {
  defaultValue: () => ({ used: false })
})

/**
 * Runs a case with a clock that starts at `now`. Requests go to the stand-in; without a stand-in they go over the
 * network.
 *
 * Because the case has its own clock, an adapter or a stand-in that waits for minutes takes no real time.
 */
export const withOwnTime = <A, E>(
  body: Effect.Effect<A, E>,
  { now, standIn }: { readonly now: number | null; readonly standIn: HttpClient.HttpClient | null }
): Effect.Effect<A, E> =>
  Effect.scoped(
    Effect.gen(function* () {
      const network = { used: false }
      const client = yield* CarrierTransport
      const watched = HttpClient.transform(client, (call) => {
        network.used = true
        return call
      })
      const begin = now ?? (yield* Clock.currentTimeMillis)
      const clock = yield* TestClock.make({ warningDelay: "1 minute" })
      yield* clock.setTime(begin)
      return yield* body.pipe(
        Effect.provideService(CarrierTransport, standIn ?? watched),
        Effect.provideService(Network, network),
        Effect.provideService(Clock.Clock, clock)
      )
    })
  )

/**
 * Runs an effect while the case's clock moves.
 *
 * The clock runs faster than real time. After the first request over the network, it runs at real speed, because the
 * carrier's server does too.
 */
export const passing = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.raceFirst(effect, flow)

const flow: Effect.Effect<never> = Effect.gen(function* () {
  const network = yield* Network
  let lastReadMs = real.currentTimeMillisUnsafe()
  while (true) {
    yield* turn
    const now = real.currentTimeMillisUnsafe()
    yield* TestClock.adjust(network.used ? now - lastReadMs : lapseMs)
    lastReadMs = now
  }
})
