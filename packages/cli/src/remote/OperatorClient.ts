import { ApiError, Input, Json, operatorOperations } from "@quotewire/core"
import { Effect, Option, Predicate, Redacted, Result, Schema } from "effect"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as Settings from "../settings/Settings.ts"
import type { OperatorHost } from "./OperatorHost.ts"

/*
 * Calls the operators' API of a running host.
 */

/** The names of the operators' API operations. */
export type OperationName = (typeof operatorOperations)[number]["name"]

/** How long a call may take, in milliseconds. Erasing many requests and testing a connection take long. */
const timeoutMs = 120_000
/** The maximum size of a response, in bytes. The largest responses are timelines with recorded bodies. */
const maxAnswerBytes = 64 * 1024 * 1024

/**
 * Calls an operation. `Answer` is the response's type; the response is checked against the operation's schema.
 *
 * Fails with the host's refusal, or with one sentence that names the setting to check.
 */
export const call = <Answer>(
  host: OperatorHost,
  name: OperationName,
  input: Readonly<Record<string, unknown>> = {}
): Effect.Effect<Answer, ApiError.ApiError | CommandFailed> =>
  Effect.gen(function* () {
    const operation = operatorOperations.find((candidate) => candidate.name === name)
    if (operation === undefined) return yield* Effect.die(new Error(`There is no operation ${name}`))
    const { status, text } = yield* exchanged(host, operation.route, input)
    const value = yield* Effect.fromResult(parse(text, host))
    if (status >= 400) return yield* refusalOf(value) ?? foreign(host)
    const [finding] = Input.findings(Schema.toEncoded(operation.output))(value)
    if (finding !== undefined) return yield* foreign(host)
    return Json.decode(Json.fromText<Answer>(text))
  })

type Route = (typeof operatorOperations)[number]["route"]

const exchanged = (
  { base_url, operator_token }: OperatorHost,
  { method, path, query }: Route,
  input: Readonly<Record<string, unknown>>
) => {
  const fields = new Map(Object.entries(input).filter(([, value]) => value !== undefined && value !== null))
  const target = path.replace(/\{(\w+)\}/g, (_, field: string) => {
    const segment = encodeURIComponent(String(fields.get(field)))
    fields.delete(field)
    return segment
  })
  const queryFields = Array.from(fields).filter(([field]) => field in query)
  for (const [field] of queryFields) fields.delete(field)
  const search = new URLSearchParams(queryFields.map(([field, value]) => [field, String(value)])).toString()
  const hasBody = method !== "GET" && fields.size > 0
  return Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`${base_url}${target}${search === "" ? "" : `?${search}`}`, {
        method,
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        headers: {
          accept: "application/json",
          authorization: `Bearer ${Redacted.value(operator_token)}`,
          ...(hasBody && { "content-type": "application/json" })
        },
        ...(hasBody && { body: JSON.stringify(Object.fromEntries(fields)) })
      })
      return { status: response.status, text: await textOf(response) }
    },
    catch: () => failed(`Cannot reach the host at ${base_url}. Check ${Settings.nameOf("base-url")}.`)
  })
}

/** Reads a response's body, up to the maximum size. */
const textOf = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > maxAnswerBytes) throw new RangeError("The host's response is too large")
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

const parse = (text: string, host: OperatorHost): Result.Result<unknown, CommandFailed> =>
  Result.try({ try: (): unknown => JSON.parse(text), catch: () => foreign(host) })

const Envelope = Schema.Struct({
  error: Schema.Struct({
    code: Schema.Literals(ApiError.codes),
    message: Schema.String,
    field_errors: Schema.NullOr(Schema.Array(ApiError.FieldError))
  })
})
const readEnvelope = Schema.decodeUnknownOption(Envelope)

/** Reads the refusal from an error envelope; null if the value is not an error envelope. */
const refusalOf = (value: unknown): ApiError.ApiError | CommandFailed | null => {
  const envelope = Option.getOrNull(readEnvelope(value))
  if (envelope === null) return null
  const { code, field_errors, message } = envelope.error
  if (code === "authentication_failed")
    return failed(`The host rejected the token from ${Settings.nameOf("operator-token")}.`)
  if (code === "forbidden") return failed(`The host refused the call: ${message}`)
  return ApiError.make(code, { message, ...(field_errors !== null && { field_errors }) })
}

const failed = (message: string) => new CommandFailed({ message })

const foreign = ({ base_url }: OperatorHost) =>
  failed(`The host at ${base_url} has no operators' API that this command can use: start the host with --operators.`)

/** Whether a failure is a refusal by the host. */
export const isRefusal = (error: unknown): error is ApiError.ApiError => Predicate.hasProperty(error, "retry_action")

/** Calls an operation like `call`, but turns a refusal into a sentence that names the wrong fields. */
export const callWithAdvice = <Answer>(...args: Parameters<typeof call>): Effect.Effect<Answer, CommandFailed> =>
  Effect.catch(call<Answer>(...args), (error) => {
    if (!isRefusal(error)) return Effect.fail(error)
    const fields = ApiError.undescribed(error).map(
      ({ allowed_values = [], message, path }) =>
        `${path}: ${message}${allowed_values.length === 0 ? "" : ` Known: ${allowed_values.join(", ")}.`}`
    )
    return Effect.fail(failed([`The host refused the call (${error.code}): ${error.message}`, ...fields].join(" ")))
  })
