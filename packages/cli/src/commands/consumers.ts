import type { ConsumerStatus, ParkedEvent } from "@quotewire/core"
import { Caller, Ids } from "@quotewire/core/program"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Reach from "../remote/Reach.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json, word } from "../settings/Settings.ts"
import { organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

const flags = { ...OperatorSettings.reach, json }

const consumerFlags = {
  organization: Flag.optional(organization),
  environment: word("environment", Caller.Environment.literals, "Only this environment; both by default").pipe(
    Flag.optional
  )
}

const filterOf = (settings: {
  readonly organization: Option.Option<Ids.OrganizationId>
  readonly environment: Option.Option<Caller.Environment>
}) => ({
  ...(Option.isSome(settings.organization) && { organization_id: settings.organization.value }),
  ...(Option.isSome(settings.environment) && { environment: settings.environment.value })
})

const nameArgument = Argument.String("name").pipe(Argument.withDescription("Name of the consumer in your program"))

const counted = (count: number, noun: string): string => `${count} ${count === 1 ? noun : `${noun}s`}`

const linesOf = ({ behind, name, parked, places, workspaces }: ConsumerStatus): ReadonlyArray<string> => [
  [name, `${counted(behind, "event")} behind`, `${parked} parked`, counted(workspaces, "workspace")].join("  "),
  ...places.map((place) =>
    [
      `  ${place.organization_id}`,
      place.environment,
      `at ${place.position}`,
      `${place.behind} behind`,
      `${place.parked} parked`
    ].join("  ")
  )
]

const list = Command.make("list", reportAllErrors({ ...consumerFlags, ...flags }), (settings) =>
  Reach.withConsumers(settings, (service) =>
    Effect.gen(function* () {
      const statuses = yield* service.list(filterOf(settings))
      if (settings.json) return yield* Output.json({ consumers: statuses })
      if (statuses.length === 0) return yield* Console.error("No program has consumed events yet.")
      yield* Output.lines(statuses.flatMap(linesOf))
    })
  )
).pipe(
  Command.withDescription(
    "List the consumers of events: how far behind each one is, where, and how many events it has parked"
  )
)

const lineOf = ({ attempts, environment, error, event, organization_id, parked_at, retrying }: ParkedEvent): string =>
  [
    event.id,
    event.type,
    organization_id,
    environment,
    error,
    counted(attempts, "attempt"),
    `parked ${parked_at}`,
    ...(retrying ? ["being retried"] : [])
  ].join("  ")

const limit = Flag.Int("limit").pipe(Flag.withDefault(100), Flag.withDescription("How many to print, 100 by default"))

const refused = ({ message }: { readonly message: string }) => Effect.fail(new CommandFailed({ message }))

const parkedFlags = { name: nameArgument, limit, ...consumerFlags, ...flags }

const listParked = Command.make("parked", reportAllErrors(parkedFlags), (settings) =>
  Reach.withConsumers(settings, (service) =>
    Effect.gen(function* () {
      const filter = { ...filterOf(settings), limit: settings.limit }
      const events = yield* service.listParked(settings.name, filter)
      if (settings.json) return yield* Output.json({ events })
      if (events.length === 0) return yield* Console.error("No parked events.")
      yield* Output.lines(events.map(lineOf))
    }).pipe(Effect.catchTag("InvalidConsumer", refused))
  )
).pipe(Command.withDescription("List the events that a consumer has parked after too many failures"))

const eventArgument = Argument.String("event").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.EventId),
    () => "<event> must be the id of an event, such as evt_01…"
  ),
  Argument.withDescription("Id of the event, evt_…")
)

const eventFlags = {
  name: nameArgument,
  event_id: eventArgument,
  organization,
  environment: word("environment", Caller.Environment.literals, "Environment of the event"),
  ...flags
}

const notParked = () => Effect.fail(new CommandFailed({ message: "The consumer has not parked this event." }))

const retry = Command.make("retry", reportAllErrors(eventFlags), ({ environment, event_id, name, ...settings }) =>
  Reach.withConsumers(settings, ({ retryParked }) =>
    Effect.gen(function* () {
      yield* retryParked(name, { organization_id: settings.organization, environment, event_id })
      yield* Output.result(settings, { event_id, retrying: true }, [`${event_id}  will be retried`])
    }).pipe(Effect.catchTag("not_found", notParked))
  )
).pipe(Command.withDescription("Retry a parked event once, in a process that runs the consumer"))

const drop = Command.make("drop", reportAllErrors(eventFlags), ({ environment, event_id, name, ...settings }) =>
  Reach.withConsumers(settings, ({ dropParked }) =>
    Effect.gen(function* () {
      yield* dropParked(name, { organization_id: settings.organization, environment, event_id })
      yield* Output.result(settings, { event_id, dropped: true }, [`${event_id}  dropped`])
    }).pipe(Effect.catchTag("not_found", notParked))
  )
).pipe(Command.withDescription("Drop a parked event: it is never handled"))

/** `quotewire consumers` shows the event consumers, and handles the events that they have parked. */
export const consumers = Command.make("consumers").pipe(
  Command.withDescription("Manage the consumers of events, and their parked events"),
  Command.withSubcommands([list, listParked, retry, drop])
)
