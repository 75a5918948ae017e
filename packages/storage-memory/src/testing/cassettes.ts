import { type Carrier, CarrierTransport } from "@quotewire/core"
import { Cassette } from "@quotewire/core/testing"
import { Effect, Layer } from "effect"
import { HttpClient } from "effect/http"

/** Cassettes (recordings of carriers' answers) by carrier ID. Each is the parsed JSON of its file. */
export type CassettesByCarrier = Readonly<Record<string, unknown>>

/**
 * When the first cassette was recorded; null if there are no cassettes. Offers recorded then may have expired since.
 */
export const recordedAt = (cassettes: CassettesByCarrier): Date | null => {
  const [first] = Object.values(cassettes)
  return first === undefined ? null : new Date(Cassette.parse(first).recorded_at)
}

/** A carrier transport that plays cassettes. */
export interface Replayed {
  readonly transport: Layer.Layer<never>
  /** A message for each request that no cassette could answer. The carrier adapter saw that request fail. */
  readonly missing: () => ReadonlyArray<string>
}

/**
 * Creates a transport that answers requests to a host from the cassette of its carrier, and sends nothing; null if
 * there are no cassettes.
 *
 * A request gets the next recorded answer for its method, host and path. Its body may differ from the recorded one,
 * because a test has facts of its own.
 *
 * Throws an `InvalidCassette`, or an error that names a cassette without a carrier.
 */
export const transportOf = (
  cassettes: CassettesByCarrier,
  carriers: ReadonlyArray<Carrier.CarrierAdapter>
): Replayed | null => {
  const replays = Object.entries(cassettes).map(([carrier_id, json]) => {
    const adapter = carriers.find(({ carrier }) => carrier.id === carrier_id)
    if (adapter === undefined) {
      throw new Error(
        `cassettes: ${carrier_id} is not one of your carriers. Use the id of a carrier that you pass in the \`carriers\` option.`
      )
    }
    const cassette = Cassette.parse(json)
    const hosts = new Set(cassette.exchanges.map(({ host }) => host))
    const { missing, transport } = Cassette.replay(cassette, adapter, undefined, { compares: "places" })
    return { hosts, missing, transport }
  })
  const [first] = replays
  if (first === undefined) return null
  // A request to a host without a cassette goes to the first cassette, whose error says what is recorded instead.
  const transport = HttpClient.make((request, url) =>
    Effect.suspend(() => (replays.find(({ hosts }) => hosts.has(url.host)) ?? first).transport.execute(request))
  )
  return {
    transport: Layer.succeed(CarrierTransport, transport),
    missing: () => replays.flatMap(({ missing }) => missing.map(({ message }) => message))
  }
}
