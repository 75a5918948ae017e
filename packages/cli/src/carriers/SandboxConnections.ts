import { type Carrier, type Config, Connections, type Ids } from "@quotewire/core"
import { Effect } from "effect"

/**
 * Sets the `sandbox_connections` of a checked configuration for the organization of an in-memory sandbox.
 *
 * Warns about each carrier that cannot be asked because its connection lacks a value.
 */
export const set = Effect.fnUntraced(function* (config: Config, organization_id: Ids.OrganizationId) {
  const connections = yield* Connections.Connections
  for (const adapter of config.carriers ?? []) {
    if (adapter.connection === undefined || !adapter.environments.includes("sandbox")) continue
    const carrier_id = adapter.carrier.id
    const values = config.sandbox_connections?.[carrier_id] ?? {}
    const missingNames = Object.keys(adapter.connection).filter((name) => values[name] === undefined)
    if (missingNames.length > 0) yield* warn(adapter, missingNames)
    else yield* connections.set({ organization_id, environment: "sandbox", carrier_id, values })
  }
}, Effect.orDie)

const warn = ({ carrier }: Carrier.CarrierAdapter, fieldNames: ReadonlyArray<string>) =>
  Effect.logWarning(
    "A carrier will not be asked, because its connection lacks values. Set them in sandbox_connections in the configuration"
  ).pipe(Effect.annotateLogs({ carrier_id: carrier.id, missing: fieldNames.join(", ") }))
