import type { JsonSchema, Result } from "effect"
import type { FieldError } from "../wire/FieldError.ts"
import type { Application, Assumed, Problems } from "./Application.ts"
import type { RequiredFact } from "./FactSchema.ts"
import type { CreditUse, LiabilityMinimum, StateCode } from "./State.ts"

export { disclosed } from "./Application.ts"

/** The codes that a line's quotes use today. The lists can grow, so readers ignore codes that they do not know. */
export interface Codes {
  readonly coverage_codes: ReadonlyArray<string>
  readonly subject_kinds: ReadonlyArray<string>
  readonly billing_cycles: ReadonlyArray<string>
  readonly fee_codes: ReadonlyArray<string>
}

/** A state's law about a line. */
export interface StateLaw {
  /** The lowest limits that may be sold. */
  readonly liability_minimum?: LiabilityMinimum
  readonly credit_use?: CreditUse
}

/** A line's properties besides its facts. */
export interface Traits<Name extends string = string, HasCredit extends boolean = boolean> {
  /** The line's name on the wire, such as `personal_auto`. */
  readonly name: Name
  /** What the line insures. It completes the phrase "Insurance for …", as in `rented homes`. */
  readonly insures: string
  readonly codes: Codes
  /** The meaning of each code. */
  readonly meanings: Readonly<Record<string, string>>
  /** The keys of the disclosures that only this line needs. */
  readonly disclosures: ReadonlyArray<string>
  /** Returns a state's law; empty if the state has no rules for this line. */
  readonly stateLaw: (state: StateCode) => StateLaw
  /** Whether carriers may use credit information if the person has seen the credit disclosure. */
  readonly has_credit_disclosure: HasCredit
  /** Whether the premium is known to include all fees. False means that this is unknown. */
  readonly premium_includes_fees: boolean
  /** Whether the feed has events about this line's quotes. If false, it has only events about quote requests. */
  readonly has_quote_events: boolean
}

/** An application that is rated or sent to a carrier: its line and its complete facts. */
export interface RatedApplication<Facts = unknown> {
  readonly line: string
  /** The complete facts, including the assumed facts. */
  readonly facts: Facts
}

/**
 * An insurance line, made by `defineLine`.
 *
 * `Sent` is the type of the facts as a caller sends them. `Facts` is the type of the complete facts, which include the
 * assumed facts. `HasCredit` says whether a start call may have a receipt for the credit disclosure.
 */
export interface Line<
  Name extends string = string,
  Facts extends object = object,
  Sent extends object = object,
  HasCredit extends boolean = boolean
> extends Traits<Name, HasCredit> {
  /** The JSON Schema (2020-12) of `application`. */
  readonly facts_schema: JsonSchema.JsonSchema
  /** The smallest application that can be priced, for trying a first call. */
  readonly example: Sent
  /**
   * The facts that are required to get a price.
   *
   * If there are alternatives, such as either a VIN or the model year, make and model, the list contains the facts that
   * affect the price.
   */
  readonly required_facts: ReadonlyArray<RequiredFact>
  /**
   * The paths of all facts that affect a price. Paths start with `application`, and have 0 for the first item of a
   * list.
   */
  readonly price_paths: ReadonlyArray<string>
  /** The paths of all facts, with `*` for every item of a list. */
  readonly fact_paths: ReadonlyArray<string>
  /** The paths of the optional facts that identify a person, with `*` for every item of a list. */
  readonly identifying_paths: ReadonlyArray<string>
  /** Describes a fact that a carrier needs beyond the line's required facts. `need` is the fact's path in `needs`. */
  readonly neededFact: (need: string) => RequiredFact
  /**
   * Reads the facts that a caller sent.
   *
   * Reports every problem, with paths that start with `application`; `refusalOf` turns the problems into an error.
   * `today` is the date in the workspace, `YYYY-MM-DD`.
   */
  readonly read: (input: unknown, today: string) => Result.Result<Application, Problems>
  /**
   * Adds the assumed facts to facts that were read earlier. Returns null if the facts no longer match the line's
   * schema.
   */
  readonly complete: (facts: unknown, today: string) => Assumed | null
  /**
   * Returns the facts of an application or an ask for this line, with their type. Throws if the application is for
   * another line.
   */
  readonly factsOf: (application: RatedApplication) => Facts
  /**
   * Finds the mistakes in the line's definition, by their paths in the definition. The list is empty if a host can
   * offer the line.
   */
  readonly faults: () => ReadonlyArray<FieldError>
}
