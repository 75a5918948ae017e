import { Data, Schema, Struct } from "effect"
import {
  FieldError,
  joinWrongFields,
  limitFields,
  missingFactsMessage,
  quoted,
  type WrongFields,
  wrongFieldsMessage
} from "./FieldError.ts"

export { FieldError, undescribed, type WrongFields } from "./FieldError.ts"

/** What a caller can do about an error (api.md, Retry actions). */
const retryActionTypes = [
  "none",
  "retry",
  "correct_input",
  "supply_facts",
  "read_status",
  "use_new_request_key",
  "wait",
  "contact_support"
] as const
export type RetryActionType = (typeof retryActionTypes)[number]

const summaries: { readonly [type in RetryActionType]: string } = {
  none: "Do not send this call again.",
  retry: "Send the same call again later.",
  correct_input: "Correct the named fields and send again.",
  supply_facts: "Add the missing facts and send again.",
  read_status: "Read the resource again before you go on.",
  use_new_request_key: "Send again with a new key.",
  wait: "Wait, then send the same call again.",
  contact_support: "Contact support with the request_id."
}

interface Definition {
  readonly status: number
  readonly retry_action: RetryActionType
  /** What the error means. This is the text on its page at `doc_url`, and the default message. */
  readonly meaning: string
}

const define = <const Table extends { readonly [code: string]: Definition }>(table: Table): Table => table

/** The table of errors (api.md, Error codes), with each code's HTTP status, usual retry action and meaning. */
export const definitions = define({
  invalid_json: { status: 400, retry_action: "correct_input", meaning: "The body is not valid JSON." },
  invalid_cursor: {
    status: 400,
    retry_action: "correct_input",
    meaning: "This list did not return the cursor, or the filters have changed. Start again without a cursor."
  },
  invalid_version: {
    status: 400,
    retry_action: "correct_input",
    meaning: "The Service-Version header does not name a served revision; allowed_values lists the served ones."
  },
  authentication_failed: { status: 401, retry_action: "none", meaning: "The API key is missing or invalid." },
  forbidden: { status: 403, retry_action: "none", meaning: "The API key is not allowed to do this." },
  not_found: {
    status: 404,
    retry_action: "none",
    meaning: "The resource does not exist, or the caller may not access it."
  },
  conflict: {
    status: 409,
    retry_action: "use_new_request_key",
    meaning: "The key was already used with a different input, or the resource has changed in the meantime."
  },
  quote_expired: {
    status: 409,
    retry_action: "read_status",
    meaning: "The quote has expired. Reserved for purchases: no operation returns this code yet."
  },
  price_changed: {
    status: 409,
    retry_action: "read_status",
    meaning: "The price has changed. Reserved for purchases: no operation returns this code yet."
  },
  purchase_not_supported: {
    status: 409,
    retry_action: "none",
    meaning:
      "The quote cannot be purchased through the API. Reserved for purchases: no operation returns this code yet."
  },
  event_cursor_expired: {
    status: 410,
    retry_action: "read_status",
    meaning:
      "The feed cannot resume from this cursor. Read each resource that you track, then read the feed without a cursor."
  },
  request_too_large: { status: 413, retry_action: "correct_input", meaning: "The body is larger than 256 KiB." },
  invalid_input: {
    status: 422,
    retry_action: "correct_input",
    meaning:
      "One or more fields are wrong; field_errors lists the first hundred. If a consent is missing or wrong, the retry action is none: ask the person."
  },
  needs_information: {
    status: 422,
    retry_action: "supply_facts",
    meaning: "Required facts are missing; field_errors lists the first hundred. No carrier has been asked."
  },
  rate_limited: {
    status: 429,
    retry_action: "wait",
    meaning: "A rate limit was reached. The message names it, and Retry-After says when to retry."
  },
  internal_error: { status: 500, retry_action: "contact_support", meaning: "The service failed." },
  service_unavailable: {
    status: 503,
    retry_action: "retry",
    meaning: "Something that the service needs is unavailable. Retry the same call after Retry-After seconds."
  }
})

/** An error code (api.md, Error codes). New codes can be added in any revision. */
export type ErrorCode = keyof typeof definitions

/** All error codes, in the order of `definitions`. */
export const codes: ReadonlyArray<ErrorCode> = Struct.keys(definitions)

/** The body of every error response (api.md, Error envelope). */
export const ErrorEnvelope = Schema.Struct({
  error: Schema.Struct({
    code: Schema.Literals(codes).annotateKey({
      description: "The error code. New codes can be added: always have a default branch"
    }),
    message: Schema.String.annotate({ description: "Sentence for a person" }),
    field_errors: Schema.NullOr(Schema.Array(FieldError)).annotateKey({
      description: "The wrong fields; null if no field is wrong"
    }),
    retry_action: Schema.Struct({
      type: Schema.Literals(retryActionTypes).annotateKey({ description: "What to do, for a program" }),
      summary: Schema.String.annotateKey({ description: "What to do, as a sentence for a person" })
    }).annotateKey({ description: "What to do next" }),
    doc_url: Schema.String.annotateKey({ description: "The page about this error code" })
  }).annotateKey({ description: "What was refused, and what to do about it" }),
  request_id: Schema.String.annotateKey({
    description: "The identifier of this call, also in the `Request-Id` header: quote it when you ask for support"
  })
}).annotate({ identifier: "ErrorEnvelope" })
export type ErrorEnvelope = typeof ErrorEnvelope.Type

/**
 * An error that a caller gets as the response to a call.
 *
 * Its tag is the error code, so `Effect.catchTag("not_found", …)` handles one kind of error.
 */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Data.Error<{
  readonly _tag: ErrorCode
  readonly message: string
  /** The wrong or missing input fields, with their paths; null if no field is wrong. */
  readonly field_errors: ReadonlyArray<FieldError> | null
  /** What the caller can do next. */
  readonly retry_action: RetryActionType
  /** How long to wait before the call can succeed, in seconds; null if waiting does not help. */
  readonly retry_after_seconds: number | null
  /**
   * The revision in which the error is written; null for the newest revision. `not_found` always uses the newest
   * revision. So does any error that occurs before the revision is known.
   */
  readonly revision: string | null
  /**
   * Identifies the call of an embedded client for support and in the request log; null for other errors, because hosts
   * send the identifier beside the error.
   */
  readonly request_id: string | null
}> {
  declare readonly _tag: Code
  static {
    // `name` is set on the prototype, as in built-in errors, so that the errors themselves do not have this field.
    ApiError.prototype.name = "ApiError"
    Object.defineProperty(ApiError.prototype, Symbol.for("@quotewire/ApiError"), { value: true })
  }
  /** The error code, under the name that the envelope uses. */
  get code(): Code {
    return this._tag
  }
  /** The HTTP status of this error. */
  get status(): number {
    return definitions[this._tag].status
  }
}

/** The details of an error besides its code. */
export interface Details {
  readonly message?: string
  readonly field_errors?: ReadonlyArray<FieldError>
  readonly retry_action?: RetryActionType
  /** How many seconds to wait until the call can succeed, as a whole number for the `Retry-After` header. */
  readonly retry_after_seconds?: number
}

/** Makes an error. Omitted details come from `definitions`. */
export const make = <const Code extends ErrorCode>(code: Code, details: Details = {}): ApiError<Code> =>
  new ApiError<Code>({
    _tag: code,
    message: details.message ?? definitions[code].meaning,
    field_errors: details.field_errors ?? null,
    retry_action: details.retry_action ?? definitions[code].retry_action,
    retry_after_seconds: details.retry_after_seconds ?? null,
    revision: null,
    request_id: null
  })

/** Copies an error. The copy has its own stack, because several callers may share one error. */
export const clone = (error: ApiError): ApiError => new ApiError(fieldsOf(error))

/** Copies an error, and adds the identifier of the call that failed. */
export const withRequestId = <Code extends ErrorCode>(error: ApiError<Code>, request_id: string): ApiError<Code> =>
  new ApiError<Code>({ ...fieldsOf(error), request_id })

/** Translates an error into a revision, with the field paths of that revision. */
export const inRevision = (error: ApiError, revision: string, path: (path: string) => string): ApiError =>
  new ApiError({ ...fieldsOf(withPaths(error, path)), revision })

/** Copies an error, and replaces its field paths, including those that its message quotes. */
export const withPaths = (error: ApiError, path: (path: string) => string): ApiError => {
  if (error.field_errors === null) return clone(error)
  const names = new Map<string, string>()
  const field_errors = error.field_errors.map((field) => {
    const renamed = field.path === "" ? field : { ...field, path: path(field.path) }
    names.set(quoted(field), quoted(renamed))
    return renamed
  })
  const message = error.message.replace(/"[^"]*"/g, (name) => names.get(name) ?? name)
  return new ApiError({ ...fieldsOf(error), message, field_errors })
}

const fieldsOf = ({
  _tag,
  message,
  field_errors,
  retry_action,
  retry_after_seconds,
  revision,
  request_id
}: ApiError) => ({
  _tag,
  message,
  field_errors,
  retry_action,
  retry_after_seconds,
  revision,
  request_id
})

/** Makes the error for an input with wrong fields. The error lists the first hundred fields and counts the others. */
export const invalidInput = (fieldErrors: ReadonlyArray<FieldError> | WrongFields): ApiError<"invalid_input"> => {
  const wrongFields = joinWrongFields(fieldErrors)
  return make("invalid_input", {
    message: wrongFieldsMessage(wrongFields),
    field_errors: limitFields(wrongFields, "wrong field")
  })
}

/**
 * Makes the error for an application with missing facts. The error lists the first hundred facts and counts the others.
 */
export const needsInformation = (fieldErrors: ReadonlyArray<FieldError>): ApiError<"needs_information"> => {
  const missingFields = joinWrongFields(fieldErrors)
  return make("needs_information", {
    message: missingFactsMessage(missingFields),
    field_errors: limitFields(missingFields, "missing fact")
  })
}

/** The envelope of an error, as all hosts send it. */
export const envelope = (error: ApiError, request_id: string, docsUrl: string): ErrorEnvelope => ({
  error: {
    code: error._tag,
    message: error.message,
    field_errors: error.field_errors,
    retry_action: { type: error.retry_action, summary: summaries[error.retry_action] },
    doc_url: `${docsUrl}/v1/errors/${error._tag}`
  },
  request_id
})
