import { Effect, Result, Schema } from "effect"
import type { Route } from "../calls/Operation.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type * as ApiError from "../wire/ApiError.ts"
import { OrganizationId, QuoteRequestId } from "../wire/Ids.ts"
import { decoder } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import type { AuditSubject } from "./AuditEntry.ts"
import type { Operator, OperatorScope } from "./OperatorToken.ts"

/** What a call is about, as reported by its operation. Text that is not a valid ID is not recorded. */
export type About = { readonly [K in keyof AuditSubject]?: string | null }

/** The definition of an operator's operation. */
export interface Definition<Name extends string, Input, Output, R> {
  readonly name: Name
  /** The operation's title: a few words, as in a table of contents. */
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly route: Route
  /** The scope that a token must have. No other scope includes it. */
  readonly scope: OperatorScope
  /**
   * Which tokens may call the operation. `organization`: also tokens for one organization, so `run` must not show or
   * change anything outside `operator.organization_id`. `deployment`: only tokens for all organizations.
   */
  readonly reach: "organization" | "deployment"
  readonly input: Schema.Decoder<Input>
  readonly output: Schema.Encoder<Output>
  /** The error codes that the operation can return, besides the codes that every operation can return. */
  readonly errors: ReadonlyArray<ApiError.ErrorCode>
  /** Reports what a call is about, for the audit log. `answer` is null if the call was refused or has not ended. */
  readonly about?: (input: Input, answer: Output | null) => About
  readonly run: (
    operator: Operator,
    input: Input
  ) => Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>
}

/** A response, and what its call was about. */
export interface Answered<out Output> {
  readonly json: Json.Json<Output>
  readonly subject: AuditSubject
}

/** A call with decoded input, ready to run, and what is known about its subject. */
export interface Prepared<out Output, out R> {
  /** The organization that the input names; null if the input names no organization. */
  readonly organization_id: OrganizationId | null
  readonly subject: AuditSubject
  readonly run: Effect.Effect<Answered<Output>, ApiError.ApiError | StorageUnavailable, R>
}

/**
 * One thing that an operator can do. Its REST route, its command and its method in `embed` are derived from this
 * object.
 */
export interface OperatorOperation<
  out Name extends string = string,
  out Output = unknown,
  out R = unknown,
  out Input = unknown
> extends Omit<Definition<Name, Input, Output, R>, "run" | "about"> {
  /** Decodes the input. The operator must have been admitted. */
  readonly prepare: (operator: Operator, input: unknown) => Result.Result<Prepared<Output, R>, ApiError.WrongFields>
}

/** Makes an operation from its definition. */
export const make = <const Name extends string, Input extends object, Output, R>(
  definition: Definition<Name, Input, Output, R>
): OperatorOperation<Name, Output, R, Input> => {
  const { about, run, ...rest } = definition
  const read = decoder(definition.input)
  return {
    ...rest,
    prepare: (operator, rawInput) =>
      Result.map(read(rawInput), (input) => {
        const organization_id = organizationIn(input)
        const subjectOf = (answer: Output | null) =>
          toSubject({ organization_id: organization_id ?? operator.organization_id, ...about?.(input, answer) })
        return {
          organization_id,
          subject: subjectOf(null),
          run: Effect.map(run(operator, input), (json) => ({ json, subject: subjectOf(Json.read(json)) }))
        }
      })
  }
}

const isOrganizationId = Schema.is(OrganizationId)
const isQuoteRequestId = Schema.is(QuoteRequestId)

const toSubject = ({ organization_id, quote_request_id, resource = null }: About): AuditSubject => ({
  organization_id: isOrganizationId(organization_id) ? organization_id : null,
  quote_request_id: isQuoteRequestId(quote_request_id) ? quote_request_id : null,
  resource
})

const organizationIn = (input: object): OrganizationId | null =>
  "organization_id" in input && isOrganizationId(input.organization_id) ? input.organization_id : null
