import { Array as Arr, Effect } from "effect"
import { Access } from "../access/Access.ts"
import type { ConnectionPlace } from "../carriers/Connection.ts"
import { Connections } from "../carriers/Connections.ts"
import { Circuits } from "../carriers/health/Circuits.ts"
import type { Unbranded } from "../client/inputs.ts"
import { type CreatedKey, createKey } from "../hostApi.ts"
import type { OrganizationId } from "../wire/Ids.ts"
import * as checked from "./checkedArguments.ts"
import type { Embedded } from "./Embedded.ts"
import type { Lifetime } from "./Lifetime.ts"
import * as views from "./views.ts"

/** The methods of `embed`'s result that manage organizations, keys, connections and circuits. */
type Administration = Pick<
  Embedded,
  | "createOrganization"
  | "listOrganizations"
  | "createKey"
  | "listKeys"
  | "revokeKey"
  | "setConnection"
  | "testConnection"
  | "listConnections"
  | "removeConnection"
  | "carrierStatus"
  | "resetCarrier"
>

/** Makes the administration methods. They run their calls with `run`. */
export const administration = (run: Lifetime["call"]): Administration => ({
  createOrganization: async (name) => {
    checked.createOrganization({ name })
    return run(
      Effect.map(
        onAccess((access) => access.createOrganization(name)),
        views.organization
      )
    )
  },
  listOrganizations: () =>
    run(
      Effect.map(
        onAccess((access) => access.listOrganizations),
        Arr.map(views.organization)
      )
    ),
  createKey: async (options) => {
    const { environment, kind, organization_id: id } = checked.createKey(options)
    const create = (organization_id: OrganizationId) => createKey({ organization_id, environment, kind })
    return run(Effect.tap(Effect.flatMap(checked.organizationId(id), create), logWarnings))
  },
  listKeys: (id) =>
    run(
      Effect.map(
        onAccess((access) => Effect.flatMap(checked.organizationId(id), access.listKeys)),
        Arr.map(views.key)
      )
    ),
  revokeKey: (id) =>
    run(
      Effect.map(
        onAccess((access) => Effect.flatMap(checked.keyId(id), access.revokeKey)),
        views.key
      )
    ),
  setConnection: async (connection) => {
    const values = checked.snapshot(checked.setConnection(connection).values)
    return run(
      Effect.map(
        onConnection(connection, (connections, place) => connections.set({ ...place, values })),
        views.connection
      )
    )
  },
  testConnection: async (target) =>
    run(onConnection(checked.testConnection(target), (connections, place) => connections.test(place))),
  listConnections: (id) =>
    run(
      Effect.map(
        Connections.use((connections) => Effect.flatMap(checked.organizationId(id), connections.list)),
        Arr.map(views.connection)
      )
    ),
  removeConnection: async (target) =>
    run(onConnection(checked.removeConnection(target), (connections, place) => connections.remove(place))),
  carrierStatus: async (options = {}) => {
    const { organization_id, ...rest } = checked.carrierStatus(options)
    return run(onCircuits(organization_id, (circuits, id) => circuits.status({ ...rest, organization_id: id })))
  },
  resetCarrier: async (place) => {
    const { organization_id, ...rest } = checked.resetCarrier(place)
    return run(onCircuits(organization_id, (circuits, id) => circuits.reset({ ...rest, organization_id: id })))
  }
})

const onAccess = <A, E>(call: (access: Access["Service"]) => Effect.Effect<A, E>) => Effect.flatMap(Access, call)

const onConnection = <A, E>(
  { carrier_id, environment, organization_id }: Unbranded<ConnectionPlace>,
  call: (connections: Connections["Service"], place: ConnectionPlace) => Effect.Effect<A, E>
) =>
  Connections.use((connections) =>
    Effect.flatMap(checked.organizationId(organization_id), (id) =>
      call(connections, { organization_id: id, environment, carrier_id })
    )
  )

const onCircuits = <A, E>(
  id: string | undefined,
  call: (circuits: Circuits["Service"], organization_id: OrganizationId | undefined) => Effect.Effect<A, E>
) =>
  Circuits.use((circuits) =>
    id === undefined
      ? call(circuits, id)
      : Effect.flatMap(checked.organizationId(id), (organizationId) => call(circuits, organizationId))
  )

const logWarnings = ({ warnings }: CreatedKey) => Effect.forEach(warnings, (warning) => Effect.logWarning(warning))
