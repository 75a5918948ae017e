import { ApiKey, HttpAddress } from "@quotewire/core/program"
import { Config, Effect, FileSystem, Option, Path, Redacted, Result, Schema } from "effect"
import * as JsonFile from "../carriers/JsonFile.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as PrivateFile from "../settings/PrivateFile.ts"
import * as Settings from "../settings/Settings.ts"

/*
 * The keys that a user has saved, in a file in the user's configuration folder. Nobody else can read the file.
 */

/** A saved key, and the only host that the key is sent to. */
export interface Profile {
  readonly base_url: string
  readonly api_key: Redacted.Redacted<string>
}

/** Profiles by name. */
export type Profiles = ReadonlyMap<string, Profile>

/** The name of the default profile. */
export const defaultName = "default"

/** The maximum number of profiles in the file. */
const maxProfiles = 100

const Stored = Schema.Struct({
  profiles: Schema.Record(
    Schema.String,
    Schema.Struct({
      base_url: Schema.String.check(Schema.makeFilter((text) => Result.isSuccess(HttpAddress.readBase(text)))),
      api_key: Schema.String.check(Schema.makeFilter(ApiKey.isWellFormed))
    })
  ).check(Schema.makeFilter((profiles) => Object.keys(profiles).every(Settings.isProfileName)))
})

const decode = Schema.decodeUnknownOption(Stored)

const variable = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Effect.orElseSucceed(() => Option.none<string>()),
    Effect.map(Option.filter((text) => text !== ""))
  )

const isWindows = process.platform === "win32"

/** The folder that contains the file; `None` if the environment defines no configuration folder. */
const findFolder = Effect.gen(function* () {
  const { isAbsolute, join } = yield* Path.Path
  const chosen = Option.filter(yield* variable("XDG_CONFIG_HOME"), isAbsolute)
  const fallback = isWindows
    ? yield* variable("APPDATA")
    : Option.map(yield* variable("HOME"), (home) => join(home, ".config"))
  return Option.map(
    Option.orElse(chosen, () => fallback),
    (parent) => join(parent, "quotewire")
  )
})

const fileIn = (folder: string) => Effect.map(Path.Path, ({ join }) => join(folder, "profiles.json"))

/**
 * Fails if anyone but the owner can read or write the file. On Windows this is not checked, because `%APPDATA%` is
 * private to its user.
 */
const refuseShared = (path: string, { mode }: FileSystem.File.Info) =>
  !isWindows && (mode & 0o077) !== 0
    ? new CommandFailed({ message: `Other users can read ${path}: run chmod 600 on it, and replace its keys.` })
    : Effect.void

/** Reads the profiles. Returns no profiles before the first `quotewire login`. No error repeats the file's content. */
export const read = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const folder = yield* findFolder
  const none: Profiles = new Map()
  if (Option.isNone(folder)) return none
  const path = yield* fileIn(folder.value)
  const info = yield* files.stat(path).pipe(
    Effect.map(Option.some),
    Effect.catch(({ reason }) =>
      reason._tag === "NotFound"
        ? Effect.succeed(Option.none())
        : Effect.fail(new CommandFailed({ message: `${path} cannot be read.` }))
    )
  )
  if (Option.isNone(info)) return none
  yield* refuseShared(path, info.value)
  const stored = decode(yield* JsonFile.read(path, "The profiles file"))
  if (Option.isNone(stored)) {
    return yield* new CommandFailed({
      message: `${path} is not a valid profiles file: remove it, and run quotewire login again.`
    })
  }
  const profiles: Profiles = new Map(
    Object.entries(stored.value.profiles).map(([name, { api_key, base_url }]) => [
      name,
      { base_url, api_key: Redacted.make(api_key) }
    ])
  )
  return profiles
})

/** Replaces the file atomically, so that a concurrent reader sees either the old or the new file. */
const write = Effect.fnUntraced(
  function* (profiles: Profiles) {
    const files = yield* FileSystem.FileSystem
    const folder = yield* findFolder
    if (Option.isNone(folder)) {
      const name = isWindows ? "APPDATA" : "HOME or XDG_CONFIG_HOME"
      return yield* new CommandFailed({ message: `There is no folder for the profiles file: set ${name}.` })
    }
    const stored = [...profiles].map(([name, { api_key, base_url }]) => [
      name,
      { base_url, api_key: Redacted.value(api_key) }
    ])
    const text = `${JSON.stringify({ profiles: Object.fromEntries(stored) }, null, 2)}\n`
    const path = yield* fileIn(folder.value)
    yield* files.makeDirectory(folder.value, { recursive: true, mode: 0o700 })
    if (!isWindows) yield* files.chmod(folder.value, 0o700)
    yield* PrivateFile.replace(path, text)
  },
  Effect.catchTag("PlatformError", () =>
    Effect.fail(new CommandFailed({ message: "Cannot write the profiles file. Check the permissions of its folder." }))
  )
)

/** Saves a profile. Replaces a profile with the same name. */
export const keep = Effect.fnUntraced(function* (name: string, profile: Profile) {
  const profiles = new Map(yield* read).set(name, profile)
  if (profiles.size > maxProfiles) {
    return yield* new CommandFailed({
      message: `You already have the maximum of ${maxProfiles} profiles: remove one first.`
    })
  }
  yield* write(profiles)
})

/** Removes a profile. Returns whether it existed. */
export const remove = Effect.fnUntraced(function* (name: string) {
  const profiles = new Map(yield* read)
  const isRemoved = profiles.delete(name)
  if (isRemoved) yield* write(profiles)
  return isRemoved
})
