import { Effect } from "effect"
import type { CarrierReply } from "../../carriers/Carrier.ts"
import { CarrierTransport } from "../../carriers/CarrierTransport.ts"
import { HttpList } from "../../carriers/recorder/ExchangeDraft.ts"
import { broken, ContractBroken } from "./carrierRule.ts"

/** The maximum number of an ask's requests to record. */
const maxRequests = 100

/**
 * Returns the answer to an ask. Fails if the carrier could not be reached, because then no rule about its answers would
 * be tested. The carrier is considered unreachable if no request got a response, or if any request got no response and
 * the ask ended as unavailable.
 *
 * If the ask breaks a rule and no request got a response, the message mentions both.
 */
export const reached = Effect.fnUntraced(function* (
  asking: Effect.Effect<CarrierReply, ContractBroken>
): Effect.fn.Return<CarrierReply, ContractBroken> {
  const list = new HttpList(maxRequests)
  const transport = list.recording(yield* CarrierTransport)
  const isAnswered = () => list.exchanges.some(({ status }) => status !== null)
  const reply = yield* asking.pipe(
    Effect.provideService(CarrierTransport, transport),
    Effect.mapError((error) => {
      const loss = isAnswered() ? null : lostIn(list)
      if (loss === null) return error
      return new ContractBroken({ broken_rules: error.broken_rules, message: `${error.message} ${loss}` })
    })
  )
  const loss = lostIn(list)
  if (loss === null || (isAnswered() && reply.kind !== "unavailable")) return reply
  return yield* broken(
    `Nothing reached the carrier, or it did not answer, so this rule was not tested. ${loss} Check the carrier's address, and whether its sandbox is up.`
  )
})

/**
 * Describes the last request that got no response, and says why; null if all requests got a response. Leaves out the
 * path, because it may contain a fact.
 */
const lostIn = ({ exchanges }: HttpList): string | null => {
  const lostExchange = exchanges.findLast(({ status }) => status === null)
  return lostExchange === undefined
    ? null
    : `${lostExchange.method} at ${lostExchange.url.host} ended without an answer: ${lostExchange.error}.`
}
