import type { Carrier } from "@quotewire/core"

/**
 * A carrier with one connection for everyone, for `quotewire dev`, where nobody sets connections.
 *
 * On a server each organization sets its own, with `quotewire connections set`, and its secrets are sealed.
 */
export const connected = (
  { connection: _, poll, ...adapter }: Carrier.CarrierAdapter,
  connection: Carrier.ConnectionValues
): Carrier.CarrierAdapter => ({
  ...adapter,
  ask: (ask) => adapter.ask({ ...ask, connection }),
  ...(poll !== undefined && { poll: (ask, ref) => poll({ ...ask, connection }, ref) })
})
