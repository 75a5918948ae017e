import { Caller, type ConsumerStatus, Consumers, Ids, type ParkedEvent } from "@quotewire/core"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Database from "../service/Database.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { json, word } from "../settings/Settings.ts"
import { database, organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

const settings = { ...database, json }

const which = {
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

const name = Argument.String("name").pipe(Argument.withDescription("Name of the consumer in your program"))

const counted = (count: number, what: string): string => `${count} ${count === 1 ? what : `${what}s`}`

const linesOf = ({ behind, name, parked, places, workspaces }: ConsumerStatus): ReadonlyArray<string> => [
  [name, `${counted(behind, "event")} behind`, `${parked} parked`, counted(workspaces, "workspace")].join("  "),
  ...places.map(({ behind, environment, organization_id, parked, position }) =>
    [`  ${organization_id}`, environment, `at ${position}`, `${behind} behind`, `${parked} parked`].join("  ")
  )
]

const list = Command.make("list", reportAllErrors({ ...which, ...settings }), (settings) =>
  Effect.gen(function* () {
    const consumers = yield* (yield* Consumers).list(filterOf(settings))
    if (settings.json) return yield* Output.json({ consumers })
    if (consumers.length === 0) return yield* Console.error("No program has consumed events yet.")
    yield* Output.lines(consumers.flatMap(linesOf))
  }).pipe(Database.withConsumers(settings))
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
    ...(retrying ? ["is retried"] : [])
  ].join("  ")

const limit = Flag.Int("limit").pipe(Flag.withDefault(100), Flag.withDescription("At most this many; 100 by default"))

const refused = ({ message }: { readonly message: string }) => Effect.fail(new CommandFailed({ message }))

const parked = Command.make("parked", reportAllErrors({ name, limit, ...which, ...settings }), (settings) =>
  Effect.gen(function* () {
    const { listParked } = yield* Consumers
    const events = yield* listParked(settings.name, { ...filterOf(settings), limit: settings.limit })
    if (settings.json) return yield* Output.json({ events })
    if (events.length === 0) return yield* Console.error("No parked events.")
    yield* Output.lines(events.map(lineOf))
  }).pipe(Effect.catchTag("InvalidConsumer", refused), Database.withConsumers(settings))
).pipe(Command.withDescription("List the events that a consumer has parked after too many failures"))

const event_id = Argument.String("event").pipe(
  Argument.filterMap(
    Schema.decodeUnknownOption(Ids.EventId),
    () => "<event> must be the id of an event, such as evt_01…"
  ),
  Argument.withDescription("Id of the event, evt_…")
)

const place = {
  name,
  event_id,
  organization,
  environment: word("environment", Caller.Environment.literals, "Environment of the event"),
  ...settings
}

const notParked = () => Effect.fail(new CommandFailed({ message: "The consumer has not parked this event." }))

const retry = Command.make("retry", reportAllErrors(place), ({ environment, event_id, json, name, ...settings }) =>
  Effect.gen(function* () {
    const { retryParked } = yield* Consumers
    yield* retryParked(name, { organization_id: settings.organization, environment, event_id })
    yield* Output.result({ json }, { event_id, retrying: true }, [`${event_id}  is retried`])
  }).pipe(Effect.catchTag("not_found", notParked), Database.withConsumers(settings))
).pipe(Command.withDescription("Retry a parked event once, in a process that runs the consumer"))

const drop = Command.make("drop", reportAllErrors(place), ({ environment, event_id, json, name, ...settings }) =>
  Effect.gen(function* () {
    const { dropParked } = yield* Consumers
    yield* dropParked(name, { organization_id: settings.organization, environment, event_id })
    yield* Output.result({ json }, { event_id, dropped: true }, [`${event_id}  is dropped`])
  }).pipe(Effect.catchTag("not_found", notParked), Database.withConsumers(settings))
).pipe(Command.withDescription("Drop a parked event: it is never handled"))

/** `quotewire consumers` shows the consumers of events, and handles events that they have parked. */
export const consumers = Command.make("consumers").pipe(
  Command.withDescription("Manage the consumers of events, and their parked events"),
  Command.withSubcommands([list, parked, retry, drop])
)
