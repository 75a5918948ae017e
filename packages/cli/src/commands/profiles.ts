import { ApiKey } from "@quotewire/core/program"
import { isApiError } from "@quotewire/http/client"
import { Console, Effect, Option, Redacted, Stdio } from "effect"
import { Command, Flag, Prompt, TerminalCapabilities } from "effect/cli"
import * as ProfileFile from "../profiles/ProfileFile.ts"
import * as HostClient from "../remote/HostClient.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as StandardInput from "../settings/StandardInput.ts"
import * as Output from "../terminal/Output.ts"

const profileFlag = Settings.profile.pipe(Flag.withDefault(ProfileFile.defaultName))

const keyForm = "must be a complete API key, such as sandbox_server_…"

/** Prompts for the key without echoing it, or reads it from standard input. */
const readKey = Effect.fnUntraced(function* (baseUrl: string) {
  const { stdinIsTerminal } = yield* Stdio.Stdio
  const { canPrompt } = yield* TerminalCapabilities.TerminalCapabilities
  if (!(yield* stdinIsTerminal)) {
    const text = (yield* StandardInput.read("Type the key.")).trim()
    return ApiKey.isWellFormed(text) ? Redacted.make(text) : yield* StandardInput.unreadable(keyForm)
  }
  if (!canPrompt) {
    return yield* new CommandFailed({
      message: "This terminal cannot hide the key while you type it: pass the key on standard input instead."
    })
  }
  return yield* Prompt.run(
    Prompt.Hidden({
      message: `API key for ${baseUrl}`,
      validate: (text) =>
        ApiKey.isWellFormed(text.trim()) ? Effect.succeed(text.trim()) : Effect.fail(`The key ${keyForm}.`)
    })
  ).pipe(Effect.catchTag("QuitError", () => Effect.fail(new CommandFailed({ message: "No key was saved." }))))
})

/** An ID that no quote request has. */
const noRequest = `qreq_${"0".repeat(26)}`

/**
 * Fails unless the host accepts the key. To find out, reads a quote request that does not exist, because every kind of
 * key may read quote requests.
 */
const check = Effect.fnUntraced(function* (profile: ProfileFile.Profile) {
  const client = HostClient.make(profile)
  yield* Effect.tryPromise({
    try: (signal) => client.get_quote_request({ id: noRequest, wait_seconds: 0 }, { signal }),
    catch: (error) => error
  }).pipe(
    Effect.catch((error) => {
      if (isApiError(error, "not_found")) return Effect.void
      return isApiError(error, "authentication_failed")
        ? Effect.fail(new CommandFailed({ message: "The host rejected the key, so it was not saved." }))
        : HostClient.refused(error)
    })
  )
})

/** The fields of a profile that are printed: what its key is for, but never the key itself. */
const printed = (name: string, { api_key, base_url }: ProfileFile.Profile) => {
  const [environment, kind] = Redacted.value(api_key).split("_")
  return { name, base_url, environment, kind }
}

const lineOf = ({ base_url, environment, kind, name }: ReturnType<typeof printed>): string =>
  `${name}  ${environment} ${kind}  ${base_url}`

/** `quotewire login` saves a key and the address of its host. */
export const login = Command.make(
  "login",
  reportAllErrors({ profile: profileFlag, base_url: Flag.optional(Settings.calledUrl), json: Settings.json }),
  ({ base_url, json, profile: name }) =>
    Effect.gen(function* () {
      const previous = (yield* ProfileFile.read).get(name)
      const address = Option.getOrElse(base_url, () => previous?.base_url ?? Settings.localUrl)
      const profile = { base_url: address, api_key: yield* readKey(address) }
      yield* check(profile)
      yield* ProfileFile.keep(name, profile)
      const profileView = printed(name, profile)
      yield* Output.result({ json }, profileView, [`Saved: ${lineOf(profileView)}`])
    })
).pipe(Command.withDescription("Save an API key and the address of its host, so that commands can call it"))

/** `quotewire logout` removes a saved key. */
export const logout = Command.make(
  "logout",
  reportAllErrors({ profile: profileFlag, json: Settings.json }),
  ({ json, profile: name }) =>
    Effect.gen(function* () {
      if (!(yield* ProfileFile.remove(name))) {
        return yield* new CommandFailed({ message: "No such profile. See quotewire profiles list." })
      }
      yield* Output.result({ json }, { name }, [`Removed ${name}. Its key remains valid until you revoke it.`])
    })
).pipe(Command.withDescription("Remove a key saved by quotewire login"))

const list = Command.make("list", reportAllErrors({ json: Settings.json }), ({ json }) =>
  Effect.gen(function* () {
    const entries = [...(yield* ProfileFile.read)].map(([name, profile]) => printed(name, profile))
    if (json) return yield* Output.json({ profiles: entries })
    if (entries.length === 0) return yield* Console.error("There are no profiles. Save a key with: quotewire login.")
    yield* Output.lines(entries.map(lineOf))
  })
).pipe(Command.withDescription("List the profiles: their names, hosts, and kinds of key, never the keys"))

/** `quotewire profiles` shows the saved keys. */
export const profiles = Command.make("profiles").pipe(
  Command.withDescription("See the saved keys for calling hosts"),
  Command.withSubcommands([list])
)
