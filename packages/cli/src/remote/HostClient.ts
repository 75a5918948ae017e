import type { Line } from "@quotewire/core"
import { type ConnectOptions, connect, HostError, isApiError, type RemoteClient } from "@quotewire/http/client"
import { Effect, Redacted } from "effect"
import { CommandFailed } from "../CommandErrors.ts"
import { printable } from "../carriers/CarrierText.ts"
import * as Settings from "../Settings.ts"
import * as AnswerCheck from "./AnswerCheck.ts"

/*
 * Calls a running host with a key, as an integrator's program does.
 */

/** The flags of every command that calls a host. */
export const flags = { api_key: Settings.caller_key, base_url: Settings.called_url, json: Settings.json }

/** Which host is called, and with which key. */
export interface HostSettings {
  readonly api_key: Redacted.Redacted<string>
  readonly base_url: string
  readonly json: boolean
}

/** A client of a host that can have any lines. */
export type HostClient = RemoteClient<Line.Line>

/** A client of the host. By default it retries a temporary failure only twice, so that a wrong address is reported soon. */
export const make = (
  { api_key, base_url }: HostSettings,
  options: Pick<ConnectOptions, "max_retries"> = {}
): HostClient =>
  connect<Line.Line>({
    base_url,
    key: Redacted.value(api_key),
    max_retries: 2,
    check_answer: AnswerCheck.check,
    ...options
  })

/** Makes a call. Its signal is aborted when the command ends. Fails with one sentence that names the setting to check. */
export const call = <A>(ask: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.catch(Effect.tryPromise({ try: ask, catch: (error) => error }), refused)

/** Fails with a sentence that says what is wrong with a call. An error that does not come from the client is a defect. */
export const refused = (error: unknown): Effect.Effect<never, CommandFailed> => {
  const message = sentenceOf(error)
  return message === null ? Effect.die(error) : Effect.fail(new CommandFailed({ message: printable(message) }))
}

/** Fails if the next cursor of a list equals the last one: such a host would be asked for the same page forever. */
export const refuseRepeated = (
  cursor: string | null,
  next_cursor: string | null
): Effect.Effect<void, CommandFailed> =>
  cursor !== null && cursor === next_cursor
    ? Effect.fail(new CommandFailed({ message: "The host answers the same page of a list again and again." }))
    : Effect.void

const sentenceOf = (error: unknown): string | null => {
  if (error instanceof HostError) {
    return error.reason === "unreachable" ? `${error.message} Is ${nameOf("base-url")} right?` : error.message
  }
  if (isApiError(error, "authentication_failed")) return `The host does not accept the key of ${nameOf("api-key")}.`
  if (isApiError(error, "forbidden")) return `The key of ${nameOf("api-key")} may not do this: use a server key.`
  if (isApiError(error, "invalid_cursor")) return "--since must be now, start, or a cursor of this host and this key."
  if (isApiError(error, "event_cursor_expired")) return "Events after --since are no longer kept: use --since start."
  if (!isApiError(error)) return null
  const fields = (error.field_errors ?? []).map(
    ({ allowed_values = [], message, path }) =>
      `${path}: ${message}${allowed_values.length === 0 ? "" : ` Known: ${allowed_values.join(", ")}.`}`
  )
  return [`The host refuses (${error.code}): ${error.message}`, ...fields].join(" ")
}

const nameOf = (flag: string): string => `--${flag} (or ${Settings.variableOf(flag)})`
