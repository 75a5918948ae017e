import type { Brand } from "effect"
import type * as Operation from "../calls/Operation.ts"
import type { Scalar } from "../lines/Application.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import type { operations } from "../operations.ts"
import type { StartInput } from "../quoting/Start.ts"

/*
 * The types of the inputs that a program passes to a client. They are derived from the schemas that check inputs at run
 * time.
 */

/** Any operation of the API. */
export type AnyOperation = (typeof operations)[number]

/** The operation with this name. */
export type OperationNamed<Name extends AnyOperation["name"]> = Extract<AnyOperation, { readonly name: Name }>

/** A field of an input. An optional field may also be `undefined`, which is treated as absent. */
type Field<A, K extends keyof A> =
  Record<never, never> extends Pick<A, K> ? Unbranded<A[K]> | undefined : Unbranded<A[K]>

/** A type in which branded IDs are plain strings, as a program writes them. */
export type Unbranded<A> =
  A extends Brand.Brand<string>
    ? Brand.Brand.Unbranded<A>
    : A extends Scalar | undefined
      ? A
      : A extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Unbranded<Item>>
        : { readonly [K in keyof A]: Field<A, K> }

/**
 * A line's facts, with every field optional at every depth. The compiler still checks names and values.
 *
 * A start with missing facts fails with `needs_information`, which lists them. A program can therefore send the facts
 * that it has, and ask the person for the rest.
 */
type GivenFacts<A> = A extends Scalar | undefined
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<GivenFacts<Item>>
    : { readonly [K in keyof A]?: GivenFacts<A[K]> | undefined }

/** The fields for a person's agreement to the disclosure. Only callers without a key send them. */
type KeylessField = "quote_disclosure_version" | "quote_disclosure_accepted"

/**
 * The field to leave out of a start call: `credit_disclosure_receipt_id` if none of the lines has a credit disclosure,
 * otherwise `never`.
 */
type CreditField<OwnLine extends Line> = true extends OwnLine["has_credit_disclosure"]
  ? never
  : "credit_disclosure_receipt_id"

/**
 * The input of a start call for lines with these names. It has one shape for each line, discriminated by `line`. A
 * client has a key, so a receipt for the person's consent is required (api.md, Start).
 */
export type StartOf<OwnLine extends Line, Name extends string = OwnLine["name"]> = OwnLine extends Line
  ? Name extends OwnLine["name"]
    ? {
        readonly [K in keyof Omit<
          StartInput,
          KeylessField | "consent_receipt_id" | CreditField<OwnLine>
        >]: K extends "line" ? Name : K extends "application" ? GivenFacts<OwnLine["example"]> : Field<StartInput, K>
      } & { readonly consent_receipt_id: string }
    : never
  : never

/**
 * The input of an operation, as in `InputOf<"start_quote_request">`.
 *
 * For your own lines, add their types: `InputOf<"start_quote_request", typeof bicycle>`.
 */
export type InputOf<
  Name extends AnyOperation["name"],
  OwnLine extends Line = StandardLine
> = Name extends "start_quote_request"
  ? StartOf<OwnLine>
  : OperationNamed<Name> extends Operation.Operation<string, infer Input, unknown, unknown>
    ? Unbranded<Input>
    : never
