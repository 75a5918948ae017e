import { Access, type Carrier, Circuits, Connections, Consumers, Erasures, type Storage } from "@quotewire/core"
import { Effect, type FileSystem, Option, type Path, type Stdio, type Terminal } from "effect"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Database from "../service/Database.ts"
import * as Service from "../service/Service.ts"
import { type CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import * as MissingSettings from "../settings/MissingSettings.ts"
import type { ReachSettings, SealedReachSettings } from "../settings/OperatorSettings.ts"
import { localUrl } from "../settings/Settings.ts"
import type { OperatorHost } from "./OperatorClient.ts"
import * as RemoteServices from "./RemoteServices.ts"

/*
 * Runs the programs of commands for operators: on a host if there is a token, otherwise on a database.
 */

type Printing = Stdio.Stdio | Terminal.Terminal
type Files = FileSystem.FileSystem | Path.Path
type Failure = CommandFailed | Storage.StorageUnavailable

/** The host to call; null if no token is set, so that the database is used. */
export const hostOf = ({
  base_url,
  cells,
  database_url,
  operator_token
}: ReachSettings): Effect.Effect<OperatorHost | null, WrongUsage> => {
  if (Option.isNone(operator_token)) return Effect.succeed(null)
  if (Option.isSome(database_url) || Option.isSome(cells)) return Effect.fail(new WrongUsage({ message: notBoth }))
  return Effect.succeed({
    base_url: Option.getOrElse(base_url, () => localUrl),
    operator_token: operator_token.value
  })
}

const notBoth = "Use either --operator-token, or a database (--database-url or --cells), not both."

/** The seal keys of a database. */
const sealed = <S extends SealedReachSettings>(settings: S) =>
  Option.match(settings.seal_keys, {
    onNone: () => Effect.fail(new WrongUsage({ message: `${MissingSettings.requestFor(["seal-keys"])}.` })),
    onSome: (seal_keys) => Effect.succeed({ ...settings, seal_keys })
  })

/** Runs a program that needs only organizations and keys. */
export const withAccess =
  (settings: ReachSettings) =>
  <A>(
    program: Effect.Effect<A, Failure, Access.Access | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(hostOf(settings), (host) =>
      host === null
        ? Database.withAccess(settings)(program)
        : remote(Effect.provideService(program, Access.Access, RemoteServices.access(host)))
    )

/** Runs a program that needs only connections, and the carriers of a configuration. */
export const withConnections =
  (settings: SealedReachSettings & Pick<HostSettings, "config">) =>
  <A>(
    program: Effect.Effect<A, Failure, Connections.Connections | Carrier.CarrierAdapters | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(hostOf(settings), (host) =>
      host === null
        ? Effect.flatMap(sealed(settings), (complete) => Database.withConnections(complete)(program))
        : Effect.flatMap(ConfigFile.load(settings.config), (config) =>
            remote(
              program.pipe(
                Effect.provideService(Connections.Connections, RemoteServices.connections(host)),
                Effect.provide(Service.carriers(config))
              )
            )
          )
    )

/** Runs a program that needs only the circuits of carriers. */
export const withCircuits =
  (settings: ReachSettings & Pick<HostSettings, "config">) =>
  <A>(
    program: Effect.Effect<A, Failure, Circuits.Circuits | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(hostOf(settings), (host) =>
      host === null
        ? Database.withCircuits(settings)(program)
        : remote(Effect.provideService(program, Circuits.Circuits, RemoteServices.circuits(host)))
    )

/** Runs a program that needs only consumers. */
export const withConsumers =
  (settings: ReachSettings) =>
  <A>(
    program: Effect.Effect<A, Failure, Consumers | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(hostOf(settings), (host) =>
      host === null
        ? Database.withConsumers(settings)(program)
        : remote(Effect.provideService(program, Consumers, RemoteServices.consumers(host)))
    )

/** Runs a program that erases personal data. */
export const withErasures =
  (settings: SealedReachSettings) =>
  <A>(
    program: Effect.Effect<A, CommandFailed, Erasures.Erasures | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(hostOf(settings), (host) =>
      host === null
        ? Effect.flatMap(sealed(settings), (complete) => Database.withErasures(complete)(program))
        : remote(Effect.provideService(program, Erasures.Erasures, RemoteServices.erasures(host)))
    )

/** With a host, this cannot happen: the host itself reports an unavailable storage. */
const remote = <A, R>(program: Effect.Effect<A, Failure, R>): Effect.Effect<A, CommandFailed, R> =>
  RemoteServices.withRemote(Effect.catchTag(program, "StorageUnavailable", () => Effect.fail(Database.unavailable)))
