import type { ApiError } from "@quotewire/core"
import { Effect } from "effect"
import { CommandFailed } from "./CommandErrors.ts"

/** Fails because the organization of a command does not exist. */
export const noOrganization = () => Effect.fail(new CommandFailed({ message: "No such organization." }))

/**
 * Fails with the field errors of a refusal, each under the setting for its path. The message repeats no values, and no
 * names that the carrier does not ask for.
 */
export const fieldErrors =
  (settings: { readonly [path: string]: string }) =>
  ({ field_errors, message }: ApiError.ApiError) =>
    Effect.fail(new CommandFailed({ message: (field_errors ?? []).map(wordsOf(settings)).join(" ") || message }))

const wordsOf =
  (settings: { readonly [path: string]: string }) =>
  ({ path, message, allowed_values = [] }: NonNullable<ApiError.ApiError["field_errors"]>[number]): string => {
    const where = settings[path] ?? path.replace(/^values\./, "")
    const allowed = allowed_values.length === 0 ? "" : ` Known: ${allowed_values.join(", ")}.`
    return `${where}: ${message}${allowed}`
  }
