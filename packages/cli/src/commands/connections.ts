import type { Carrier, ConnectionSummary } from "@quotewire/core"
import { Caller, Timestamp } from "@quotewire/core/program"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as ConnectionInput from "../carriers/ConnectionInput.ts"
import * as Reach from "../remote/Reach.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as OperatorSettings from "../settings/OperatorSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { fieldErrors, noOrganization } from "../settings/refusals.ts"
import { config, json, word } from "../settings/Settings.ts"
import { organization } from "../settings/StorageSettings.ts"
import * as Output from "../terminal/Output.ts"

const flags = { organization, config, ...OperatorSettings.reach, seal_keys: OperatorSettings.sealKeys, json }

const place = {
  ...flags,
  carrier: Flag.String("carrier").pipe(Flag.withDescription("Id of the carrier in its adapter, such as naic:12345")),
  environment: word("environment", Caller.Environment.literals, "Environment that the connection is for")
}

interface ConnectionKey {
  readonly organization: ConnectionSummary["organization_id"]
  readonly carrier: string
  readonly environment: Caller.Environment
}

const placeOf = ({ organization: organization_id, carrier: carrier_id, environment }: ConnectionKey) => ({
  organization_id,
  carrier_id,
  environment
})

/** The fields of a connection that are printed. Times are in RFC 3339 format; the value of a secret is null. */
const printed = ({ carrier_id, environment, state, values, set_at, last_test }: ConnectionSummary) => ({
  carrier_id,
  environment,
  state,
  values,
  set_at: Timestamp.fromMillis(set_at),
  last_test: last_test === null ? null : { ...last_test, at: Timestamp.fromMillis(last_test.at) }
})

const lineOf = ({ carrier_id, environment, state, values, set_at, last_test }: ReturnType<typeof printed>): string => {
  const valueTexts = Object.entries(values).map(
    ([name, value]) => `${name}=${value === null ? "(secret)" : JSON.stringify(value)}`
  )
  const tested = last_test === null ? [] : [`tested ${last_test.at} ${last_test.outcome}`]
  return [carrier_id, environment, state, ...valueTexts, `set ${set_at}`, ...tested].join("  ")
}

/** The connections that carriers in the configuration need and the organization lacks. Such carriers are not asked. */
const missingOf = (
  adapters: ReadonlyArray<Carrier.CarrierAdapter>,
  existing: ReadonlyArray<Pick<ConnectionSummary, "carrier_id" | "environment">>
) =>
  adapters.flatMap(({ carrier, connection, environments }) =>
    environments
      .filter(
        (environment) =>
          connection !== undefined &&
          !existing.some((candidate) => candidate.carrier_id === carrier.id && candidate.environment === environment)
      )
      .map((environment) => ({ carrier_id: carrier.id, environment, fields: Object.keys(connection ?? {}) }))
  )

const noConnection = () => Effect.fail(new CommandFailed({ message: "No such connection." }))

const refused = fieldErrors({ carrier_id: "--carrier", environment: "--environment", values: "The values" })

const set = Command.make("set", reportAllErrors(place), (settings) =>
  Reach.withConnections(settings, (service, adapters) =>
    Effect.gen(function* () {
      const fields = adapters.find(({ carrier }) => carrier.id === settings.carrier)?.connection
      // If the carrier needs no connection, setting values will fail, so do not ask for them. With an operator's token,
      // the host decides this, because it may know other carriers.
      const isRefused = fields === undefined && Option.isNone(settings.operator_token)
      const values = isRefused ? {} : yield* ConnectionInput.read(Object.keys(fields ?? {}))
      const connection = printed(yield* service.set({ ...placeOf(settings), values }))
      yield* Output.result(settings, connection, [lineOf(connection)])
    }).pipe(Effect.catchTag("not_found", noOrganization), Effect.catchTag("invalid_input", refused))
  )
).pipe(
  Command.withDescription(
    "Set an organization's values for a carrier, from standard input (JSON or NAME=value lines) or from the variables QUOTEWIRE_CONNECTION_…"
  )
)

const test = Command.make("test", reportAllErrors(place), (settings) =>
  Reach.withConnections(settings, (service) =>
    Effect.gen(function* () {
      const result = yield* service.test(placeOf(settings))
      if (settings.json) yield* Output.json(result)
      if (result.outcome === "failed") {
        return yield* new CommandFailed({ message: `The connection does not work: ${result.message}` })
      }
      if (!settings.json) yield* Output.lines([result.message ?? "The connection works."])
    }).pipe(Effect.catchTag("not_found", noConnection))
  )
).pipe(Command.withDescription("Test a connection with its carrier, and save the result"))

const list = Command.make("list", reportAllErrors(flags), (settings) =>
  Reach.withConnections(settings, (service, adapters) =>
    Effect.gen(function* () {
      const existing = (yield* service.list(settings.organization)).map(printed)
      const missingConnections = missingOf(adapters, existing)
      if (settings.json) return yield* Output.json({ connections: existing, missing: missingConnections })
      if (existing.length === 0) yield* Console.error("The organization has no connections.")
      yield* Output.lines([
        ...existing.map(lineOf),
        ...missingConnections.map(({ carrier_id, environment, fields }) =>
          [carrier_id, environment, "missing", `needs ${fields.join(", ")}`].join("  ")
        )
      ])
    }).pipe(Effect.catchTag("not_found", noOrganization))
  )
).pipe(Command.withDescription("List the connections of an organization, without their secrets"))

const remove = Command.make("remove", reportAllErrors(place), (settings) =>
  Reach.withConnections(settings, (service) =>
    Effect.gen(function* () {
      const { carrier_id, environment, organization_id } = placeOf(settings)
      yield* service.remove({ carrier_id, environment, organization_id })
      yield* Output.result(settings, { carrier_id, environment }, [`${carrier_id}  ${environment}  removed`])
    }).pipe(Effect.catchTag("not_found", noConnection))
  )
).pipe(Command.withDescription("Remove a connection; its carrier is no longer asked for the organization"))

/** `quotewire connections` manages organizations' values for carriers, such as agency codes and API keys. */
export const connections = Command.make("connections").pipe(
  Command.withDescription("Manage the values that organizations set for carriers, such as producer codes and API keys"),
  Command.withSubcommands([set, test, list, remove])
)
