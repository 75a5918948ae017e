import { type Cause, Clock, Effect, Exit, Result } from "effect"
import { Allowance } from "../access/limits/Allowance.ts"
import { type Refusal, refuse, toApiError } from "../calls/Refusal.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, type RequestId } from "../wire/Ids.ts"
import type * as Json from "../wire/Json.ts"
import { fromMillis } from "../wire/Timestamp.ts"
import { type AuditEntry, type AuditSubject, noSubject } from "./AuditEntry.ts"
import { AuditLog } from "./AuditLog.ts"
import type { OperatorOperation, Prepared } from "./OperatorOperation.ts"
import type { Operator } from "./OperatorToken.ts"
import { type OperatorGrant, OperatorTokens, refused } from "./OperatorTokens.ts"

/** The services that every operator's call needs, besides the services of its operation. */
export type OperatorCallServices = Allowance | AuditLog | Ids | OperatorTokens

/** What identifies the operator: a token, or an identity that the host has verified in another way. */
export type OperatorCredentials =
  | { readonly token: string | null; readonly address: string }
  | { readonly operator: Operator }

/** An operator's call that a host passes on. */
export interface OperatorRequest {
  readonly request_id: RequestId
  readonly credentials: OperatorCredentials
  /** The input as one object. It is not read until the operator has been admitted. */
  readonly input: Effect.Effect<unknown, ApiError.ApiError>
}

/**
 * Runs an operation for an operator, in these steps: token, rate limit, scope, input, organization, audit log, run.
 *
 * Fails only with an `ApiError`. A defect is logged with the request ID and reported as `internal_error`. Every call
 * with a valid token and within the rate limit is in the audit log before its response is sent. A call that changes
 * something or reads facts is in the log before it begins: if the log cannot be written, the call does nothing.
 */
export const call = <Output, R>(
  operation: OperatorOperation<string, Output, R>,
  request: OperatorRequest
): Effect.Effect<Json.Json<Output>, ApiError.ApiError, R | OperatorCallServices> =>
  Effect.catchCause(
    Effect.gen(function* () {
      const operator = yield* identify(request.credentials)
      // Charge the call before the audit log is written, so that a runaway program cannot fill the log.
      yield* (yield* Allowance).spendAsOperator(operator.token_id)
      return yield* perform(operation, request, operator)
    }),
    (cause) => refuse(operation.name, request.request_id, cause)
  )

/**
 * Identifies an operator by an access token. `verify` checks the token and returns what the token grants.
 *
 * If `verify` fails with `authentication_failed`, this counts against the limit of the client's address, like a wrong
 * token.
 */
export const identifyGrant = <E extends { readonly _tag: string }, R>(
  address: string,
  verify: Effect.Effect<OperatorGrant, E, R>
): Effect.Effect<OperatorCredentials, ApiError.ApiError | E, R | Allowance | OperatorTokens> =>
  Effect.gen(function* () {
    const grant = yield* counted(address, verify)
    const tokens = yield* OperatorTokens
    return { operator: yield* tokens.admit(grant) }
  })

/**
 * Counts a failed authentication against the limit of the client's address. An address that has reached its limit is
 * refused without an attempt to authenticate.
 */
const counted = Effect.fnUntraced(function* <A, E extends { readonly _tag: string }, R>(
  address: string,
  identifying: Effect.Effect<A, E, R>
) {
  const allowance = yield* Allowance
  yield* allowance.mayAuthenticate(address)
  return yield* Effect.tapError(identifying, (error) =>
    error._tag === "authentication_failed" ? allowance.failedAuthentication(address) : Effect.void
  )
})

/**
 * Identifies the operator who makes a call. An invalid token counts against the limit of the client's address, like an
 * invalid key.
 */
const identify = Effect.fnUntraced(function* (credentials: OperatorCredentials) {
  if ("operator" in credentials) return credentials.operator
  const { address, token } = credentials
  if (token === null) return yield* refused
  const tokens = yield* OperatorTokens
  return yield* counted(address, tokens.authenticate(token))
})

const perform = Effect.fnUntraced(function* <Output, R>(
  operation: OperatorOperation<string, Output, R>,
  request: OperatorRequest,
  operator: Operator
) {
  const audit = yield* AuditLog
  const begun = yield* newEntry(operation, request, operator)
  const admitted = yield* Effect.exit(admit(operation, request, operator))
  if (Exit.isFailure(admitted)) {
    yield* audit.add(ended(begun, noSubject, admitted.cause))
    return yield* Effect.failCause(admitted.cause)
  }
  const { run, subject } = admitted.value
  const isLoggedFirst = operation.scope !== "read"
  if (isLoggedFirst) yield* audit.add({ ...begun, ...withoutResource(subject) })
  const exit = yield* Effect.exit(run)
  const entry = Exit.isSuccess(exit)
    ? { ...begun, ...exit.value.subject, outcome: "succeeded" as const }
    : ended(begun, subject, exit.cause)
  // A failure to log the end is ignored, because the call has already run and its beginning is in the log.
  yield* isLoggedFirst ? Effect.ignore(audit.end(entry)) : audit.add(entry)
  return yield* Effect.map(exit, ({ json }) => json)
})

const newEntry = Effect.fnUntraced(function* (
  { name, scope }: OperatorOperation,
  { request_id }: OperatorRequest,
  { name: token_name, token_id }: Operator
) {
  const ids = yield* Ids
  const at = fromMillis(yield* Clock.currentTimeMillis)
  const entry: AuditEntry = {
    id: ids.audit_entry(),
    at,
    request_id,
    token_id,
    token_name,
    operation: name,
    scope,
    ...noSubject,
    outcome: "begun",
    error_code: null
  }
  return entry
})

/**
 * Drops the resource of a call that did not succeed. Only a success proves that the resource exists; before that, the
 * input may contain anything.
 */
const withoutResource = (subject: AuditSubject): AuditSubject => ({ ...subject, resource: null })

const ended = (entry: AuditEntry, subject: AuditSubject, cause: Cause.Cause<Refusal>): AuditEntry => ({
  ...entry,
  ...withoutResource(subject),
  outcome: "refused",
  error_code: toApiError(cause)?._tag ?? "internal_error"
})

/** Checks the scope, reads the input, and checks the organization. */
const admit = Effect.fnUntraced(function* <Output, R>(
  operation: OperatorOperation<string, Output, R>,
  request: OperatorRequest,
  operator: Operator
): Effect.fn.Return<Prepared<Output, R>, ApiError.ApiError> {
  const { organization_id, scopes } = operator
  if (!scopes.includes(operation.scope)) return yield* forbidden(`The token lacks the ${operation.scope} scope.`)
  if (organization_id !== null && operation.reach === "deployment") {
    return yield* forbidden("This concerns all organizations, and the token reaches only one.")
  }
  const prepared = operation.prepare(operator, yield* request.input)
  if (Result.isFailure(prepared)) return yield* ApiError.invalidInput(prepared.failure)
  const named = prepared.success.organization_id
  // An organization that the token cannot access gets the same error as an organization that does not exist.
  if (organization_id !== null && named !== null && named !== organization_id) return yield* ApiError.make("not_found")
  return prepared.success
})

const forbidden = (message: string) => Effect.fail(ApiError.make("forbidden", { message }))
