import { ApiError, type Line } from "@quotewire/core"
import { type Client, type ConnectOptions, connect, HostError, isApiError } from "@quotewire/http/client"
import { Effect, Redacted } from "effect"
import { printable } from "../carriers/CarrierText.ts"
import * as ProfileFlags from "../profiles/ProfileFlags.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as Settings from "../settings/Settings.ts"
import { version } from "../version.ts"
import * as AnswerCheck from "./AnswerCheck.ts"

/*
 * Calls a running host with a key, as an integrator's program does.
 */

/** The flags that all commands calling a host share. */
export const flags = {
  profile: ProfileFlags.profile,
  api_key: ProfileFlags.apiKey,
  base_url: ProfileFlags.baseUrl,
  json: Settings.json
}

/** Which host to call, and with which key. */
export interface HostSettings {
  readonly api_key: Redacted.Redacted<string>
  readonly base_url: string
  readonly json: boolean
}

/** A client for a host. The host can offer any insurance lines. */
export type HostClient = Client<Line.Line>

/**
 * Creates a client for the host. By default the client retries a temporary failure only twice, so that a wrong address
 * is reported soon.
 */
export const make = (
  { api_key, base_url }: Pick<HostSettings, "api_key" | "base_url">,
  options: Pick<ConnectOptions, "fetch" | "max_retries"> = {}
): HostClient =>
  connect<Line.Line>({
    base_url,
    key: Redacted.value(api_key),
    max_retries: 2,
    check_answer: AnswerCheck.check,
    ...options
  })

/**
 * The `User-Agent` of `quotewire listen`. By this header, `quotewire requests tail` recognizes that command's reads of
 * the feed.
 */
export const listener = `Quotewire-Listen/${version}`

/** Sends requests with the `User-Agent` of `quotewire listen`. */
export const fetchAsListener: NonNullable<ConnectOptions["fetch"]> = (url, init) => {
  const headers = new Headers(init.headers)
  headers.set("user-agent", listener)
  return fetch(url, { ...init, headers })
}

/** Makes a call. It is aborted when the command ends. A failure is one sentence that names the setting to check. */
export const call = <A>(ask: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.catch(Effect.tryPromise({ try: ask, catch: (error) => error }), refused)

/**
 * Fails with a sentence that says what is wrong with a call. Dies for an error that does not come from the client,
 * because that is a bug.
 */
export const refused = (error: unknown): Effect.Effect<never, CommandFailed> => {
  const message = sentenceOf(error)
  return message === null ? Effect.die(error) : Effect.fail(new CommandFailed({ message: printable(message) }))
}

/** Fails if a list's next cursor equals the previous one. Otherwise the command would request the same page forever. */
export const refuseRepeated = (cursor: string | null, nextCursor: string | null): Effect.Effect<void, CommandFailed> =>
  cursor !== null && cursor === nextCursor
    ? Effect.fail(new CommandFailed({ message: "The host keeps returning the same page of a list." }))
    : Effect.void

const sentenceOf = (error: unknown): string | null => {
  if (error instanceof HostError) {
    return error.reason === "unreachable" ? `${error.message} Check ${Settings.nameOf("base-url")}.` : error.message
  }
  if (isApiError(error, "authentication_failed")) return `The host rejected the key from ${key}.`
  if (isApiError(error, "forbidden")) return `The key from ${key} is not allowed to do this: use a server key.`
  if (isApiError(error, "invalid_cursor"))
    return "--since must be now, start, or a cursor that this host returned for this key."
  if (isApiError(error, "event_cursor_expired")) return "Events after --since are no longer stored: use --since start."
  if (!isApiError(error)) return null
  const fields = ApiError.undescribed(error).map(
    ({ allowed_values = [], message, path }) =>
      `${path}: ${message}${allowed_values.length === 0 ? "" : ` Known: ${allowed_values.join(", ")}.`}`
  )
  return [`The host refused the call (${error.code}): ${error.message}`, ...fields].join(" ")
}

const key = `--api-key (or ${Settings.variableOf("api-key")}, or the profile)`
