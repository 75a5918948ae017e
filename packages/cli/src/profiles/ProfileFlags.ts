import { Effect, Option } from "effect"
import { CliError, Flag, type Param } from "effect/cli"
import { parsedAs } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as ProfileFile from "./ProfileFile.ts"

/*
 * Decides which host a command calls and with which key. Explicit settings take precedence over a profile.
 */

const setName = Flag.optional(Settings.profile)
const setKey = Flag.optional(Settings.callerKey)
const setUrl = Flag.optional(Settings.calledUrl)

const wrongProfile = (expected: string) =>
  new CliError.InvalidValue({ option: "profile", value: "", expected, kind: "flag" })

/** The value that was set explicitly. A wrong value is treated as set, because its own flag reports the error. */
const valueOf = <A>(flag: Flag.Flag<Option.Option<A>>, args: Param.ParsedArgs) =>
  flag.parse(args).pipe(
    Effect.map(([, value]) => ({ is_set: Option.isSome(value), value: Option.getOrNull(value) })),
    Effect.orElseSucceed(() => ({ is_set: true, value: null }))
  )

/**
 * Finds the profile to use; null if no profile is used. The default profile is used only if no key is set explicitly.
 * An explicit key is therefore never sent to the host of a profile that was not named. A profile's key is never sent to
 * a different host.
 */
const used = Effect.fnUntraced(function* (args: Param.ParsedArgs) {
  const [, name] = yield* setName.parse(args)
  const key = yield* valueOf(setKey, args)
  const url = yield* valueOf(setUrl, args)
  if (key.is_set && (url.is_set || Option.isNone(name))) return null
  const profiles = yield* Effect.mapError(ProfileFile.read, ({ message }) =>
    wrongProfile(`--profile cannot be used: ${message}`)
  )
  const chosen = profiles.get(Option.getOrElse(name, () => ProfileFile.defaultName))
  const isOfHost = !url.is_set || url.value === chosen?.base_url
  if (chosen !== undefined && isOfHost) return chosen
  if (Option.isNone(name)) return null
  return yield* wrongProfile(
    chosen === undefined
      ? Settings.settingError("profile", "be the name of a profile, as quotewire profiles list prints it")
      : `--profile cannot be used with a different --base-url (or ${Settings.variableOf("base-url")}), because a profile's key is sent only to the profile's host`
  )
})

/** The profile with the given name. It must exist if any of its values are needed. */
export const profile = parsedAs(setName, (args) => Effect.andThen(used(args), setName.parse(args)))

/** The key to call with: the explicit key, or else the profile's key. */
export const apiKey = parsedAs(Settings.callerKey, (args) =>
  Effect.catchTag(Settings.callerKey.parse(args), "MissingOption", (error) =>
    Effect.flatMap(used(args), (selected) =>
      selected === null ? Effect.fail(error) : Effect.succeed([args.arguments, selected.api_key] as const)
    )
  )
)

/** The host to call: the explicit host, otherwise the profile's host, otherwise the address of `quotewire dev`. */
export const baseUrl = parsedAs(Settings.calledUrl, (args) =>
  Effect.catchTag(Settings.calledUrl.parse(args), "MissingOption", () =>
    Effect.map(used(args), (selected) => [args.arguments, selected?.base_url ?? Settings.localUrl] as const)
  )
)
