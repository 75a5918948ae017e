import { type Carrier, type Config, ratePlanCarrier } from "@quotewire/core"
import { CarrierTransports } from "@quotewire/http"
import { Effect, Path, Predicate } from "effect"
import { Argument, Flag } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import * as JsonFile from "./JsonFile.ts"

/** The file that carriers are loaded from. */
export const fileArgument = Argument.String("file").pipe(
  Argument.withDescription("A configuration file, a module that exports carriers, or a rate plan (JSON)")
)

/** The flag that selects a carrier from the file. `defaultText` describes what happens if it is not set. */
export const carrierFlag = (defaultText: string) =>
  Flag.String("carrier").pipe(
    Flag.optional,
    Flag.withDescription(`Id of the carrier, such as naic:12345; ${defaultText}`)
  )

/**
 * Loads a configuration with at least one carrier. The file can contain a configuration, exported carriers, or a rate
 * plan.
 */
export const load = (name: string) => (name.endsWith(".json") ? fromRatePlan(name) : fromModule(name))

const fromRatePlan = Effect.fnUntraced(function* (name: string) {
  const plan = yield* JsonFile.read(name, "<file>")
  return yield* Effect.try({
    try: (): Config => ({ carriers: [ratePlanCarrier(plan)] }),
    catch: () => new CommandFailed({ message: "The rate plan has errors. Run quotewire carriers check to list them." })
  })
})

const refused = (message: string) => Effect.fail(new WrongUsage({ message }))

const fromModule = Effect.fnUntraced(function* (name: string) {
  const path = yield* Path.Path
  const file = path.resolve(name)
  if (!/\.[cm]?[jt]s$/.test(file)) return yield* refused("<file> must be a .ts, .mts, .js, .mjs or .json file.")
  if (!(yield* ConfigFile.isFile(file))) return yield* refused("<file> must be a file that exists.")
  const showPath = ConfigFile.shownFrom(path)
  const exported = yield* ConfigFile.importFile(file, showPath)
  const config = yield* ConfigFile.read(configOf(exported), showPath(file))
  if ((config.carriers ?? []).length > 0) return config
  return yield* refused(`${showPath(file)} must export a carrier, or a configuration with carriers.`)
})

/**
 * Reads a module's configuration. If the module exports no configuration, all its exports are carriers, regardless of
 * their names.
 */
const configOf = (exported: object): unknown => {
  const values = new Set<unknown>(Object.values(exported))
  const configuration = Predicate.hasProperty(exported, "default") ? exported.default : undefined
  if (Predicate.hasProperty(configuration, "carriers")) return configuration
  return { carriers: [...values].filter((value) => Predicate.hasProperty(value, "ask")) }
}

/** Finds the carrier with this ID, or all carriers in the file if no ID is given. */
export const chosen = (
  { carriers = [] }: Config,
  id: string | undefined
): Effect.Effect<ReadonlyArray<Carrier.CarrierAdapter>, WrongUsage> => {
  if (id === undefined) return Effect.succeed(carriers)
  const matching = carriers.filter(({ carrier }) => carrier.id === id)
  const ids = carriers.map(({ carrier }) => carrier.id).join(", ")
  return matching.length > 0 ? Effect.succeed(matching) : refused(`--carrier must be one of ${ids}.`)
}

/** The transport for requests to the carriers. */
export const transport = ({ carrier_transport = CarrierTransports.layer() }: Config) => carrier_transport

/**
 * Finds the carrier with this ID, or the only carrier in the file. Fails if the file has several carriers and no ID is
 * given.
 */
export const one = (config: Config, id: string | undefined) =>
  Effect.flatMap(chosen(config, id), ([first, ...others]) => {
    if (first !== undefined && others.length === 0) return Effect.succeed(first)
    return refused("The file has several carriers. Choose a carrier with --carrier.")
  })
