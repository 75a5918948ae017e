import { Effect, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import type { ConnectionPlace, ConnectionSummary } from "../carriers/Connection.ts"
import { Connections } from "../carriers/Connections.ts"
import { Circuits } from "../carriers/health/Circuits.ts"
import { OrganizationId } from "../wire/Ids.ts"
import { textUpTo } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"
import * as OperatorOperation from "./OperatorOperation.ts"

const tag = "Carriers"

const CarrierId = textUpTo(200, 1).annotateKey({ description: "The carrier, by the id in its adapter" })

const CarrierStatus = Schema.Struct({
  carrier_id: Schema.String.annotateKey({ description: "The carrier" }),
  line: Schema.String.annotateKey({ description: "The insurance line" }),
  environment: Environment.annotateKey({ description: "The environment" }),
  organization_id: Schema.NullOr(OrganizationId).annotateKey({
    description: "The organization, for a carrier with connections; null if all organizations are counted together"
  }),
  circuit: Schema.Literals(["closed", "open", "half_open"]).annotateKey({
    description: "`open`: the carrier is not asked. `half_open`: the pause is over, and one trial ask is allowed"
  }),
  since: Schema.NullOr(Timestamp).annotateKey({ description: "When the circuit opened or last closed; null if never" }),
  until: Schema.NullOr(Timestamp).annotateKey({ description: "Until when it stays open; null if it is closed" }),
  why: Schema.NullOr(Schema.String).annotateKey({ description: "Why it opened; null if it is closed" }),
  outcomes: Schema.Array(Schema.String).annotateKey({ description: "The outcomes of the latest asks, oldest first" }),
  in_flight: Schema.Int.annotateKey({ description: "How many calls are in progress" }),
  max_concurrent: Schema.Int.annotateKey({ description: "How many calls may be in progress at once" }),
  rate_left: Schema.Int.annotateKey({ description: "How many more calls the limit per minute allows now" }),
  rate_per_minute: Schema.Int.annotateKey({ description: "The limit per minute" })
}).annotate({ identifier: "CarrierStatus" })

/** Shows the status of carriers. */
export const getCarrierStatus = OperatorOperation.make({
  name: "get_carrier_status",
  summary: "Read the status of carriers",
  description:
    "The circuit, latest outcomes, calls in progress and remaining rate of each carrier, line and environment across all hosts, and of each connection. A page has at most 100 connections: send next as after for more.",
  tag,
  route: {
    method: "GET",
    path: "/operator/v1/carriers",
    query: { carrier_id: "string", organization_id: "string", after: "string" },
    status: 200
  },
  scope: "read",
  reach: "organization",
  input: Schema.Struct({
    carrier_id: Schema.optionalKey(CarrierId),
    organization_id: Schema.optionalKey(OrganizationId).annotateKey({
      description: "Only this organization's connections"
    }),
    after: Schema.optionalKey(textUpTo(500)).annotateKey({ description: "`next` of the previous page" })
  }),
  output: Schema.Struct({
    carriers: Schema.Array(CarrierStatus).annotateKey({ description: "The status of each carrier" }),
    next: Schema.NullOr(Schema.String).annotateKey({ description: "The `after` of the next page; null at the end" })
  }),
  errors: ["not_found"],
  run: ({ organization_id }, input) =>
    Circuits.use((circuits) =>
      Effect.map(circuits.status({ ...input, ...(organization_id !== null && { organization_id }) }), Json.encode)
    )
})

/** Closes the circuits of a carrier. */
export const resetCarrier = OperatorOperation.make({
  name: "reset_carrier",
  summary: "Close the circuits of a carrier",
  description:
    "Closes a carrier's open circuits on all hosts, for example after it reports that it has recovered. Returns the new status of those that were open.",
  tag,
  route: { method: "POST", path: "/operator/v1/carriers/{carrier_id}/reset", query: {}, status: 200 },
  scope: "write",
  // Only tokens for all organizations may call this, because a carrier without connections has one circuit for all of
  // them.
  reach: "deployment",
  input: Schema.Struct({
    carrier_id: CarrierId,
    line: Schema.optionalKey(textUpTo(100, 1)).annotateKey({ description: "Only this line; all by default" }),
    environment: Schema.optionalKey(Environment).annotateKey({ description: "Only this environment; both by default" }),
    organization_id: Schema.optionalKey(OrganizationId).annotateKey({
      description: "Only this organization's, for a carrier with connections; all by default"
    })
  }),
  output: Schema.Struct({
    carriers: Schema.Array(CarrierStatus).annotateKey({ description: "The new status of each circuit that was open" })
  }),
  errors: ["not_found"],
  about: ({ carrier_id }, answer) => ({ resource: answer === null ? null : carrier_id }),
  run: (_, input) =>
    Circuits.use((circuits) => Effect.map(circuits.reset(input), (carriers) => Json.encode({ carriers })))
})

const placeFields = {
  organization_id: OrganizationId.annotateKey({ description: "The organization, `org_…`" }),
  environment: Environment.annotateKey({ description: "The environment" }),
  carrier_id: CarrierId
}

const placePath = "/operator/v1/organizations/{organization_id}/connections/{environment}/{carrier_id}"

const ConnectionView = Schema.Struct({
  organization_id: OrganizationId.annotateKey({ description: "The organization" }),
  environment: Environment.annotateKey({ description: "The environment" }),
  carrier_id: Schema.String.annotateKey({ description: "The carrier" }),
  state: Schema.Literals(["usable", "incomplete", "unreadable", "unused"]).annotateKey({
    description: "Whether asks can use it. Without a usable connection, the carrier is not asked: `not_appointed`"
  }),
  values: Schema.Record(Schema.String, Schema.NullOr(Schema.String)).annotateKey({
    description: "The values by name; null for a secret"
  }),
  set_at: Timestamp.annotate({ description: "When it was set" }),
  last_test: Schema.NullOr(
    Schema.Struct({
      at: Timestamp.annotate({ description: "When it was tested" }),
      outcome: Schema.Literals(["ok", "failed"]).annotateKey({ description: "The result" }),
      message: Schema.NullOr(Schema.String).annotateKey({ description: "What was wrong; null if nothing" })
    })
  ).annotateKey({ description: "The last test; null if it was not tested since it was set" })
}).annotate({ identifier: "Connection" })

const viewOf = ({ last_test, set_at, ...connection }: ConnectionSummary): typeof ConnectionView.Type => ({
  ...connection,
  set_at: fromMillis(set_at),
  last_test: last_test === null ? null : { ...last_test, at: fromMillis(last_test.at) }
})

/** Lists the connections of an organization. */
export const listConnections = OperatorOperation.make({
  name: "list_connections",
  summary: "List the connections of an organization",
  description: "What the organization has set for carriers, without secrets, and the last test of each.",
  tag,
  route: { method: "GET", path: "/operator/v1/organizations/{organization_id}/connections", query: {}, status: 200 },
  scope: "read",
  reach: "organization",
  input: Schema.Struct({ organization_id: placeFields.organization_id }),
  output: Schema.Struct({
    connections: Schema.Array(ConnectionView).annotateKey({ description: "The connections" })
  }),
  errors: ["not_found"],
  run: (_, { organization_id }) =>
    Connections.use((connections) =>
      Effect.map(connections.list(organization_id), (summaries) => Json.encode({ connections: summaries.map(viewOf) }))
    )
})

/**
 * The subject of a call about a connection. It includes the carrier only if the call succeeded, which proves that the
 * connection exists.
 */
const aboutConnection = ({ carrier_id, environment }: ConnectionPlace, answer: unknown) => ({
  resource: answer === null ? null : `${environment} ${carrier_id}`
})

/** Sets an organization's values for its connection to a carrier. */
export const setConnection = OperatorOperation.make({
  name: "set_connection",
  summary: "Set a connection",
  description:
    "Sets an organization's values for a carrier, and replaces all earlier ones. Every host uses them within a second. Neither a response nor the audit log repeats a secret.",
  tag,
  route: { method: "POST", path: placePath, query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({
    ...placeFields,
    values: Schema.Record(Schema.String, Schema.String).annotateKey({
      description: "A value for each field that the carrier asks for"
    })
  }),
  output: ConnectionView,
  errors: ["not_found"],
  about: aboutConnection,
  run: (_, input) =>
    Connections.use((connections) => Effect.map(connections.set(input), (summary) => Json.encode(viewOf(summary))))
})

/** Tests a connection with its carrier. */
export const testConnection = OperatorOperation.make({
  name: "test_connection",
  summary: "Test a connection",
  description: "Tests a connection at the carrier, for 15 seconds at most, and stores the result.",
  tag,
  route: { method: "POST", path: `${placePath}/test`, query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct(placeFields),
  output: Schema.Struct({
    outcome: Schema.Literals(["ok", "failed", "not_tested"]).annotateKey({
      description: "`not_tested`: this carrier's connections cannot be tested"
    }),
    message: Schema.NullOr(Schema.String).annotateKey({ description: "What is wrong; null if the connection works" })
  }),
  errors: ["not_found"],
  about: aboutConnection,
  run: (_, place) => Connections.use((connections) => Effect.map(connections.test(place), Json.encode))
})

/** Removes a connection and its values. */
export const removeConnection = OperatorOperation.make({
  name: "remove_connection",
  summary: "Remove a connection",
  description: "Removes a connection and its values. The carrier is no longer asked for this organization.",
  tag,
  route: { method: "DELETE", path: placePath, query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct(placeFields),
  output: Schema.Struct({
    carrier_id: Schema.String.annotateKey({ description: "The carrier" }),
    environment: Environment.annotateKey({ description: "The environment" })
  }),
  errors: ["not_found"],
  about: aboutConnection,
  run: (_, place) =>
    Connections.use((connections) =>
      Effect.as(
        connections.remove(place),
        Json.encode({ carrier_id: place.carrier_id, environment: place.environment })
      )
    )
})
