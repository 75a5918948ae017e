import { Effect, Schema } from "effect"
import { Environment } from "../access/Caller.ts"
import { Consumers } from "../consuming/Consumers.ts"
import type { ParkedEvent } from "../consuming/ParkedEvent.ts"
import { Event } from "../events/Event.ts"
import * as ApiError from "../wire/ApiError.ts"
import { EventId, OrganizationId } from "../wire/Ids.ts"
import { textUpTo, wholeNumber } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { Timestamp } from "../wire/Timestamp.ts"
import * as OperatorOperation from "./OperatorOperation.ts"

const tag = "Consumers"

const placeFilters = {
  organization_id: Schema.optionalKey(OrganizationId).annotateKey({ description: "Only events of this organization" }),
  environment: Schema.optionalKey(Environment).annotateKey({ description: "Only events in this environment" })
}
const placeQuery = { organization_id: "string", environment: "string" } as const

const ConsumerPlace = Schema.Struct({
  organization_id: OrganizationId.annotateKey({ description: "The organization" }),
  environment: Environment.annotateKey({ description: "The environment" }),
  position: Schema.Int.annotateKey({ description: "The number in the feed up to which every event is done" }),
  behind: Schema.Int.annotateKey({ description: "How many events come after that position" }),
  parked: Schema.Int.annotateKey({ description: "How many parked events are waiting to be retried or dropped" })
}).annotate({ identifier: "ConsumerPlace" })

const ConsumerStatus = Schema.Struct({
  name: Schema.String.annotateKey({ description: "The name of the consumer" }),
  started_at: Timestamp.annotate({ description: "When the name was first consumed" }),
  workspaces: Schema.Int.annotateKey({ description: "In how many workspaces it has a position" }),
  behind: Schema.Int.annotateKey({ description: "How many events are not handled yet" }),
  parked: Schema.Int.annotateKey({ description: "How many parked events are waiting to be retried or dropped" }),
  places: Schema.Array(ConsumerPlace).annotateKey({
    description:
      "At most 100 workspaces with something to do: first those with parked events, then those furthest behind"
  })
}).annotate({ identifier: "ConsumerStatus" })

/** Lists the consumers of events, with their progress. */
export const listConsumers = OperatorOperation.make({
  name: "list_consumers",
  summary: "List the consumers of events",
  description:
    "How far behind each consumer is, where, and how many events it has parked. It looks at every workspace.",
  tag,
  route: { method: "GET", path: "/operator/v1/consumers", query: placeQuery, status: 200 },
  scope: "read",
  reach: "organization",
  input: Schema.Struct(placeFilters),
  output: Schema.Struct({
    consumers: Schema.Array(ConsumerStatus).annotateKey({ description: "The consumers by name" })
  }),
  errors: [],
  run: ({ organization_id }, input) =>
    Consumers.use((consumers) =>
      Effect.map(consumers.list({ ...input, ...(organization_id !== null && { organization_id }) }), (statuses) =>
        Json.encode({ consumers: statuses })
      )
    )
})

const Name = textUpTo(200, 1).annotateKey({ description: "The name of the consumer" })

const ParkedEventView = Schema.Struct({
  organization_id: OrganizationId.annotateKey({ description: "The organization" }),
  environment: Environment.annotateKey({ description: "The environment" }),
  event_id: EventId.annotateKey({ description: "The event" }),
  event: Event.annotateKey({ description: "The event itself, which holds no facts" }),
  attempts: Schema.Int.annotateKey({ description: "How often it has failed" }),
  error: Schema.String.annotateKey({ description: "The kind of the last failure, never its message" }),
  parked_at: Timestamp.annotate({ description: "When it was parked, in the time of the workspace" }),
  retrying: Schema.Boolean.annotateKey({ description: "Whether a requested retry has not ended yet" })
}).annotate({ identifier: "ParkedEvent" })

/** Lists a consumer's parked events. */
export const listParkedEvents = OperatorOperation.make({
  name: "list_parked_events",
  summary: "List the parked events of a consumer",
  description: "The events that a consumer parked after too many failures, oldest first in each workspace.",
  tag,
  route: {
    method: "GET",
    path: "/operator/v1/consumers/{name}/parked-events",
    query: { ...placeQuery, limit: "integer" },
    status: 200
  },
  scope: "read",
  reach: "organization",
  input: Schema.Struct({
    name: Name,
    ...placeFilters,
    limit: Schema.optionalKey(wholeNumber(1, 1_000)).annotateKey({
      description: "How many events to list at most; 100 by default"
    })
  }),
  output: Schema.Struct({
    events: Schema.Array(ParkedEventView).annotateKey({ description: "The events" })
  }),
  errors: ["not_found"],
  run: ({ organization_id }, { name, ...filter }) =>
    Consumers.use((consumers) =>
      consumers.listParked(name, { ...filter, ...(organization_id !== null && { organization_id }) })
    ).pipe(
      // A consumer cannot have an invalid name, so the consumer does not exist.
      Effect.catchTag("InvalidConsumer", () => Effect.fail(ApiError.make("not_found"))),
      Effect.map((events: ReadonlyArray<ParkedEvent>) => Json.encode({ events }))
    )
})

const ParkedPlace = Schema.Struct({
  name: Name,
  event_id: EventId.annotateKey({ description: "The event, `evt_…`" }),
  organization_id: OrganizationId.annotateKey({ description: "The organization of the event" }),
  environment: Environment.annotateKey({ description: "The environment of the event" })
})

const Handled = Schema.Struct({
  event_id: EventId.annotateKey({ description: "The event" }),
  outcome: Schema.Literals(["retrying", "dropped"]).annotateKey({ description: "What happens to it" })
})

const eventPath = "/operator/v1/consumers/{name}/parked-events/{event_id}"

const aboutEvent = (_: unknown, answer: { readonly event_id: string } | null) => ({
  resource: answer?.event_id ?? null
})

/** Requests one more attempt at a parked event. */
export const retryParkedEvent = OperatorOperation.make({
  name: "retry_parked_event",
  summary: "Retry a parked event",
  description: "Requests one more attempt, in any process that runs the consumer. If it fails, the event stays parked.",
  tag,
  route: { method: "POST", path: `${eventPath}/retry`, query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: ParkedPlace,
  output: Handled,
  errors: ["not_found"],
  about: aboutEvent,
  run: (_, { name, ...place }) =>
    Consumers.use((consumers) =>
      Effect.as(consumers.retryParked(name, place), Json.encode({ event_id: place.event_id, outcome: "retrying" }))
    )
})

/** Drops a parked event, so that it is never handled. */
export const dropParkedEvent = OperatorOperation.make({
  name: "drop_parked_event",
  summary: "Drop a parked event",
  description: "The event is never handled by this consumer. It stays in the feed.",
  tag,
  route: { method: "POST", path: `${eventPath}/drop`, query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: ParkedPlace,
  output: Handled,
  errors: ["not_found"],
  about: aboutEvent,
  run: (_, { name, ...place }) =>
    Consumers.use((consumers) =>
      Effect.as(consumers.dropParked(name, place), Json.encode({ event_id: place.event_id, outcome: "dropped" }))
    )
})
