import { type Config, readConfig } from "@quotewire/core"
import { Effect, FileSystem, Option, Path, Predicate } from "effect"
import { WrongUsage } from "../settings/CommandErrors.ts"
import { settingError } from "../settings/Settings.ts"
import * as LoadFault from "./LoadFault.ts"
import { secondCopies } from "./SharedPackages.ts"

/** The default files in the current folder, in the order in which they are tried. */
const defaultNames = ["ts", "mts", "js", "mjs"].map((extension) => `quotewire.config.${extension}`)

const loadTimeoutMs = 60_000

/**
 * Loads the configuration from the given file, or else from a default file in the current folder. If there is no file,
 * the configuration is empty.
 *
 * If the file has mistakes, fails with one `WrongUsage`.
 */
export const load = Effect.fnUntraced(function* (setting: Option.Option<string>) {
  const file = yield* Option.match(setting, { onNone: () => inCurrentFolder, onSome: named })
  if (file === null) return emptyConfig
  const showPath = shownFrom(yield* Path.Path)
  const exported = yield* importFile(file, showPath)
  if (!Predicate.hasProperty(exported, "default") || isEmptyCommonJs(exported)) {
    return yield* refused(`${showPath(file)} must export its configuration: export default defineConfig({ … })`)
  }
  return yield* read(exported.default, showPath(file))
})

/** Checks the configuration that a file exports. */
export const read = (exported: unknown, shownPath: string): Effect.Effect<Config, WrongUsage> =>
  Effect.fromResult(readConfig(exported)).pipe(
    Effect.catchTag("InvalidConfig", ({ message }) => refused(`${shownPath}: ${message}`))
  )

const emptyConfig: Config = {}

/**
 * Whether a file was loaded as CommonJS and exports an empty object. That can happen if it has no imports and exports.
 */
const isEmptyCommonJs = (exported: object): boolean =>
  Predicate.hasProperty(exported, "module.exports") &&
  Predicate.isReadonlyObject(exported["module.exports"]) &&
  Object.keys(exported["module.exports"]).length === 0

const refused = (message: string) => Effect.fail(new WrongUsage({ message }))

/** Whether a path leads to a file. */
export const isFile = (file: string) =>
  FileSystem.FileSystem.use((files) => files.stat(file)).pipe(
    Effect.match({ onFailure: () => false, onSuccess: ({ type }) => type === "File" })
  )

const inCurrentFolder = Effect.gen(function* () {
  const path = yield* Path.Path
  for (const name of defaultNames) {
    const file = path.resolve(name)
    if (yield* isFile(file)) return file
  }
  return null
})

/**
 * Finds the file with the given name. If it does not exist, the error does not repeat the name, because it may be a
 * misplaced secret.
 */
const named = Effect.fnUntraced(function* (setting: string) {
  const file = (yield* Path.Path).resolve(setting)
  if (!/\.[cm]?[jt]s$/.test(file)) {
    return yield* refused(`${settingError("config", "name a .ts, .mts, .js or .mjs file")}.`)
  }
  if (yield* isFile(file)) return file
  return yield* refused(
    `${settingError("config", "name a file that exists; relative paths start in the current folder")}.`
  )
})

/** Creates a function that shortens the paths of files in the current folder. */
export const shownFrom =
  (path: Path.Path) =>
  (file: string): string => {
    const relative = path.relative(path.resolve(), file)
    return relative.startsWith("..") || path.isAbsolute(relative) ? file : relative
  }

/** Imports a file that exists. An error in the file becomes `WrongUsage`. */
export const importFile = Effect.fnUntraced(function* (file: string, showPath: (file: string) => string) {
  if (/\.[cm]?ts$/.test(file) && process.features.typescript === false) {
    return yield* refused(
      `${showPath(file)} cannot be loaded, because TypeScript is turned off in this Node process: start Node without the option that turns it off, or write the configuration in JavaScript, as a .mjs file.`
    )
  }
  const copies = secondCopies(file)
  if (copies.length > 0) {
    return yield* refused(
      `${showPath(file)} uses a different copy of ${copies.join(" and ")} than this command: install the command next to the file, with npm install @quotewire/cli, and run that command.`
    )
  }
  const { href } = yield* Effect.orDie((yield* Path.Path).toFileUrl(file))
  return yield* Effect.tryPromise({
    try: (): Promise<object> => import(href),
    catch: (thrown) => new WrongUsage({ message: LoadFault.sentence(thrown, file, showPath) })
  }).pipe(
    Effect.timeoutOrElse({
      duration: loadTimeoutMs,
      orElse: () => refused(`${showPath(file)} did not finish loading within a minute.`)
    })
  )
})
