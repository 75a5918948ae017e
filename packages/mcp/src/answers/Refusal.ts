import { ApiError, type Line } from "@quotewire/core"
import * as FactQuestions from "./FactQuestions.ts"
import { count, joinFirst, maxItems } from "./phrases.ts"

/** Advice that is more specific than the refusal's `retry_action`. */
const advice: { readonly [code in ApiError.ErrorCode]?: string } = {
  needs_information: "Ask the person for these facts, then call again. Never guess a fact.",
  not_found: "Check the id, and the read_handle where the tool takes one."
}

/** The advice for a refusal; undefined if a form has already asked the person, so the model must not ask again. */
const adviceOf = ({ code, retry_action }: ApiError.ErrorEnvelope["error"]): string | undefined =>
  code === "needs_information" && retry_action.type === "none" ? undefined : advice[code]

/**
 * Summarizes a refusal: what was wrong, and what to do about it. `line` is the insurance line that the call names, if
 * any.
 */
export const summaryOf = (
  { error }: ApiError.ErrorEnvelope,
  retryAfterSeconds: number | null,
  line: Line.Line | undefined
): string => {
  const errors = ApiError.undescribed(error)
  const fields =
    error.code === "needs_information" && line !== undefined
      ? FactQuestions.missing(errors, line)
      : errors.map(({ path, message, allowed_values }) => {
          const allowed = allowed_values === undefined ? "" : ` Allowed: ${joinFirst(allowed_values, ", ")}.`
          return path === "" ? message : `${path}: ${message}${allowed}`
        })
  return [
    `Refused (${error.code}): ${error.message}`,
    ...fields.slice(0, maxItems),
    ...(fields.length > maxItems ? ["field_errors names more."] : []),
    ...(retryAfterSeconds === null ? [] : [`Wait ${count(retryAfterSeconds, "second")} first.`]),
    adviceOf(error) ?? error.retry_action.summary
  ].join("\n")
}
