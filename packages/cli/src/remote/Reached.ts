import { Access, Carrier, Circuits, Connections, Consumers, Erasures, Quotewire, type Storage } from "@quotewire/core"
import { Effect, type FileSystem, Option, type Path, type Stdio, type Terminal } from "effect"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Database from "../service/Database.ts"
import * as Service from "../service/Service.ts"
import { type CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import * as MissingSettings from "../settings/MissingSettings.ts"
import type { ReachSettings, SealedReachSettings } from "../settings/OperatorSettings.ts"
import { noOrganization } from "../settings/refusals.ts"
import { hostOf } from "./OperatorHost.ts"
import * as RemoteServices from "./RemoteServices.ts"

/*
 * The implementation that `Reach.ts` loads when a command runs. It runs programs on a host or on a database.
 */

type Printing = Stdio.Stdio | Terminal.Terminal
type Failure = CommandFailed | Storage.StorageUnavailable
/** A program whose service has not been provided yet. */
type Program<A> = Effect.Effect<A, Failure, Printing>
/** A program whose service has been provided. */
type Reaching<A> = Effect.Effect<A, CommandFailed | WrongUsage, Printing | FileSystem.FileSystem | Path.Path>

/** Checks that the seal keys are set. A database needs them. */
const sealed = <S extends SealedReachSettings>(settings: S) =>
  Option.match(settings.seal_keys, {
    onNone: () => Effect.fail(new WrongUsage({ message: `${MissingSettings.requestFor(["seal-keys"])}.` })),
    onSome: (seal_keys) => Effect.succeed({ ...settings, seal_keys })
  })

/** Runs a program that needs only the service for organizations and keys. */
export const withAccess = <A>(
  settings: ReachSettings,
  makeProgram: (access: Access.Access["Service"]) => Program<A>
): Reaching<A> =>
  Effect.flatMap(hostOf(settings), (host) =>
    host === null
      ? Database.withAccess(settings)(Effect.flatMap(Access.Access, makeProgram))
      : remote(makeProgram(RemoteServices.access(host)))
  )

/** Creates a key. For a database, also reads the configuration, to count the carriers in the key's environment. */
export const createKey = (
  settings: ReachSettings & Pick<HostSettings, "config">,
  options: Parameters<typeof Quotewire.createKey>[0]
) =>
  Effect.flatMap(hostOf(settings), (host) =>
    host === null
      ? createKeyIn(settings, options)
      : Effect.catchTag(RemoteServices.createKey(host, options), "not_found", noOrganization)
  )

const createKeyIn = Effect.fnUntraced(function* (
  settings: Parameters<typeof createKey>[0],
  options: Parameters<typeof createKey>[1]
) {
  const configuration = yield* ConfigFile.load(settings.config)
  const created = yield* Quotewire.createKey(options).pipe(
    Effect.catchTag("not_found", noOrganization),
    Effect.provide(Service.carriers(configuration)),
    Database.withAccess(settings)
  )
  const warnings = created.warnings.map((warning) => (configuration.carriers ? warning : `${warning} ${uncounted}`))
  return { ...created, warnings }
})

const uncounted = "To count your hosts' carriers, pass their configuration file with --config."

/** Runs a program that needs only the service for connections, and the carriers in a configuration. */
export const withConnections = <A>(
  settings: SealedReachSettings & Pick<HostSettings, "config">,
  makeProgram: (
    connections: Connections.Connections["Service"],
    adapters: ReadonlyArray<Carrier.CarrierAdapter>
  ) => Program<A>
): Reaching<A> =>
  Effect.flatMap(hostOf(settings), (host) =>
    host === null
      ? Effect.flatMap(sealed(settings), (complete) =>
          Connections.Connections.pipe(
            Effect.flatMap((connections) =>
              Carrier.CarrierAdapters.use((adapters) => makeProgram(connections, adapters))
            ),
            Database.withConnections(complete)
          )
        )
      : Effect.flatMap(ConfigFile.load(settings.config), (config) =>
          Carrier.CarrierAdapters.use((adapters) => makeProgram(RemoteServices.connections(host), adapters)).pipe(
            Effect.provide(Service.carriers(config)),
            remote
          )
        )
  )

/** Runs a program that needs only the service for circuit breakers. */
export const withCircuits = <A>(
  settings: ReachSettings & Pick<HostSettings, "config">,
  makeProgram: (circuits: Circuits.Circuits["Service"]) => Program<A>
): Reaching<A> =>
  Effect.flatMap(hostOf(settings), (host) =>
    host === null
      ? Database.withCircuits(settings)(Effect.flatMap(Circuits.Circuits, makeProgram))
      : remote(makeProgram(RemoteServices.circuits(host)))
  )

/** Runs a program that needs only the service for event consumers. */
export const withConsumers = <A>(
  settings: ReachSettings,
  makeProgram: (consumers: Consumers["Service"]) => Program<A>
): Reaching<A> =>
  Effect.flatMap(hostOf(settings), (host) =>
    host === null
      ? Database.withConsumers(settings)(Effect.flatMap(Consumers, makeProgram))
      : remote(makeProgram(RemoteServices.consumers(host)))
  )

/** Runs a program that needs only the service for erasures. */
export const withErasures = <A>(
  settings: SealedReachSettings,
  makeProgram: (erasures: Erasures.Erasures["Service"]) => Effect.Effect<A, CommandFailed, Printing>
): Reaching<A> =>
  Effect.flatMap(hostOf(settings), (host) =>
    host === null
      ? Effect.flatMap(sealed(settings), (complete) =>
          Database.withErasures(complete)(Effect.flatMap(Erasures.Erasures, makeProgram))
        )
      : remote(makeProgram(RemoteServices.erasures(host)))
  )

/** Removes a failure that cannot happen with a host, which reports unavailable storage itself. */
const remote = <A, R>(program: Effect.Effect<A, Failure, R>): Effect.Effect<A, CommandFailed, R> =>
  RemoteServices.withRemote(Effect.catchTag(program, "StorageUnavailable", () => Effect.fail(Database.unavailable)))
