import { Effect } from "effect"
import type * as Reached from "./Reached.ts"

/*
 * Runs the programs of operators' commands: on a host if there is a token, otherwise on a database. The service, the
 * storage and the calls to a host are loaded only when a program runs. A command's `--help` therefore does not load
 * them.
 */

const reached = Effect.promise(() => import("./Reached.ts"))

/** Runs a program that needs only the service for organizations and keys. */
export const withAccess: typeof Reached.withAccess = (settings, makeProgram) =>
  Effect.flatMap(reached, (services) => services.withAccess(settings, makeProgram))

/** Creates a key, through a host or in a database. */
export const createKey: typeof Reached.createKey = (settings, options) =>
  Effect.flatMap(reached, (services) => services.createKey(settings, options))

/** Runs a program that needs only the service for connections, and the carriers in a configuration. */
export const withConnections: typeof Reached.withConnections = (settings, makeProgram) =>
  Effect.flatMap(reached, (services) => services.withConnections(settings, makeProgram))

/** Runs a program that needs only the service for circuit breakers. */
export const withCircuits: typeof Reached.withCircuits = (settings, makeProgram) =>
  Effect.flatMap(reached, (services) => services.withCircuits(settings, makeProgram))

/** Runs a program that needs only the service for event consumers. */
export const withConsumers: typeof Reached.withConsumers = (settings, makeProgram) =>
  Effect.flatMap(reached, (services) => services.withConsumers(settings, makeProgram))

/** Runs a program that needs only the service for erasures. */
export const withErasures: typeof Reached.withErasures = (settings, makeProgram) =>
  Effect.flatMap(reached, (services) => services.withErasures(settings, makeProgram))
