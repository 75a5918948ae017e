import { type ApiError, Caller, Carrier, type ConnectionSummary, Connections, Timestamp } from "@quotewire/core"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "../CommandErrors.ts"
import * as ConnectionInput from "../carriers/ConnectionInput.ts"
import * as Database from "../Database.ts"
import { config, json, word } from "../Settings.ts"
import { database, organization, seal_keys } from "../StorageSettings.ts"

const settings = { organization, config, ...database, seal_keys, json }

const place = {
  ...settings,
  carrier: Flag.String("carrier").pipe(
    Flag.withDescription("Id of the carrier, such as naic:12345, as its adapter has it")
  ),
  environment: word("environment", Caller.Environment.literals, "Environment that the connection is for")
}

interface Place {
  readonly organization: ConnectionSummary["organization_id"]
  readonly carrier: string
  readonly environment: Caller.Environment
}

const placeOf = ({ organization: organization_id, carrier: carrier_id, environment }: Place) => ({
  organization_id,
  carrier_id,
  environment
})

/** A connection as it is printed. Times are RFC 3339; the value of a secret is null. */
const printed = ({ carrier_id, environment, state, values, set_at, last_test }: ConnectionSummary) => ({
  carrier_id,
  environment,
  state,
  values,
  set_at: Timestamp.fromMillis(set_at),
  last_test: last_test === null ? null : { ...last_test, at: Timestamp.fromMillis(last_test.at) }
})

const lineOf = ({ carrier_id, environment, state, values, set_at, last_test }: ReturnType<typeof printed>): string => {
  const shown = Object.entries(values).map(
    ([name, value]) => `${name}=${value === null ? "(secret)" : JSON.stringify(value)}`
  )
  const tested = last_test === null ? [] : [`tested ${last_test.at} ${last_test.outcome}`]
  return [carrier_id, environment, state, ...shown, `set ${set_at}`, ...tested].join("  ")
}

const noOrganization = () => Effect.fail(new CommandFailed({ message: "There is no such organization." }))
const noConnection = () => Effect.fail(new CommandFailed({ message: "There is no such connection." }))

/** Says which setting or value is wrong. A refusal repeats no value, and no name that the carrier does not ask for. */
const refused = ({ field_errors, message }: ApiError.ApiError) =>
  Effect.fail(
    new CommandFailed({
      message: (field_errors ?? []).map(wrongField).join(" ") || message
    })
  )

const wrongField = ({ path, message, allowed_values = [] }: NonNullable<ApiError.ApiError["field_errors"]>[number]) => {
  const where = places[path] ?? path.replace(/^values\./, "")
  const allowed = allowed_values.length === 0 ? "" : ` Known: ${allowed_values.join(", ")}.`
  return `${where}: ${message}${allowed}`
}

const places: { readonly [path: string]: string } = {
  carrier_id: "--carrier",
  environment: "--environment",
  values: "The values"
}

const set = Command.make("set", place, (settings) =>
  Effect.gen(function* () {
    const connections = yield* Connections.Connections
    const adapters = yield* Carrier.CarrierAdapters
    const fields = adapters.find(({ carrier }) => carrier.id === settings.carrier)?.connection
    // A carrier that asks for nothing is refused without waiting for values.
    const values = fields === undefined ? {} : yield* ConnectionInput.read(Object.keys(fields))
    const connection = printed(yield* connections.set({ ...placeOf(settings), values }))
    yield* Console.log(settings.json ? JSON.stringify(connection) : lineOf(connection))
  }).pipe(
    Effect.catchTag("not_found", noOrganization),
    Effect.catchTag("invalid_input", refused),
    Database.withConnections(settings)
  )
).pipe(
  Command.withDescription(
    "Set what an organization gives for a carrier, from standard input (JSON, or lines NAME=value) or from the variables QUOTEWIRE_CONNECTION_…"
  )
)

const test = Command.make("test", place, (settings) =>
  Effect.gen(function* () {
    const connections = yield* Connections.Connections
    const result = yield* connections.test(placeOf(settings))
    if (settings.json) yield* Console.log(JSON.stringify(result))
    if (result.outcome === "failed") {
      return yield* new CommandFailed({ message: `The connection does not work: ${result.message}` })
    }
    if (!settings.json) yield* Console.log(result.message ?? "The connection works.")
  }).pipe(Effect.catchTag("not_found", noConnection), Database.withConnections(settings))
).pipe(Command.withDescription("Try a connection at its carrier, and keep the result"))

const list = Command.make("list", settings, (settings) =>
  Effect.gen(function* () {
    const { list } = yield* Connections.Connections
    const connections = (yield* list(settings.organization)).map(printed)
    if (settings.json) return yield* Console.log(JSON.stringify({ connections }))
    if (connections.length === 0) yield* Console.error("The organization has no connections.")
    for (const connection of connections) yield* Console.log(lineOf(connection))
  }).pipe(Effect.catchTag("not_found", noOrganization), Database.withConnections(settings))
).pipe(Command.withDescription("List the connections of an organization, without their secrets"))

const remove = Command.make("remove", place, (settings) =>
  Effect.gen(function* () {
    const { remove } = yield* Connections.Connections
    const { carrier_id, environment, organization_id } = placeOf(settings)
    yield* remove({ carrier_id, environment, organization_id })
    yield* Console.log(
      settings.json ? JSON.stringify({ carrier_id, environment }) : `${carrier_id}  ${environment}  removed`
    )
  }).pipe(Effect.catchTag("not_found", noConnection), Database.withConnections(settings))
).pipe(Command.withDescription("Remove a connection; its carrier is no longer asked for the organization"))

/** `quotewire connections` manages what organizations give for carriers, such as codes and API keys. */
export const connections = Command.make("connections").pipe(
  Command.withDescription("Manage what organizations give for carriers, such as producer codes and API keys"),
  Command.withSubcommands([set, test, list, remove])
)
