import type { ApiError } from "@quotewire/core"
import type { CannotListen } from "@quotewire/http"
import { Effect, Option } from "effect"
import { CommandFailed } from "./CommandErrors.ts"
import type { HostSettings } from "./HostSettings.ts"
import { nameOf } from "./Settings.ts"

/** The error for a port that the system refuses. It says which setting chose the port, and what to do. */
export const refusedPort = (
  { metrics_port }: Pick<HostSettings, "metrics_port">,
  { code, message, port }: CannotListen
): CommandFailed => {
  const flag = Option.contains(metrics_port, port) ? "metrics-port" : "port"
  const setting = nameOf(flag)
  const help: { readonly [reason: string]: string } = {
    EADDRINUSE: ` Stop the program that uses it, or choose another port with ${setting}; 0 picks a free one.`,
    EACCES: ` Choose a port from 1024 up with ${setting}.`
  }
  return new CommandFailed({ message: `${message}${help[code] ?? ""}` })
}

/** Fails because the command's organization does not exist. */
export const noOrganization = () => Effect.fail(new CommandFailed({ message: "No such organization." }))

/**
 * Turns a refusal's field errors into one failure, which names the setting of each invalid field. The message repeats
 * no values, and no names of fields that the carrier does not ask for.
 */
export const fieldErrors =
  (settings: { readonly [path: string]: string }) =>
  ({ field_errors, message }: ApiError.ApiError) =>
    Effect.fail(new CommandFailed({ message: (field_errors ?? []).map(wordsOf(settings)).join(" ") || message }))

const wordsOf =
  (settings: { readonly [path: string]: string }) =>
  ({ path, message, allowed_values = [] }: NonNullable<ApiError.ApiError["field_errors"]>[number]): string => {
    const setting = settings[path] ?? path.replace(/^values\./, "")
    const allowed = allowed_values.length === 0 ? "" : ` Known: ${allowed_values.join(", ")}.`
    return `${setting}: ${message}${allowed}`
  }
