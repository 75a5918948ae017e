import type { JsonSchema, Result } from "effect"
import type { FieldError } from "../wire/FieldError.ts"
import type { Application, Assumed, Problems } from "./Application.ts"
import type { RequiredFact } from "./FactSchema.ts"
import type { CreditUse, LiabilityMinimum, StateCode } from "./State.ts"

export { disclosed } from "./Application.ts"

/** The codes that quotes of a line use today. The lists can grow; readers ignore codes that they do not know. */
export interface Codes {
  readonly coverage_codes: ReadonlyArray<string>
  readonly subject_kinds: ReadonlyArray<string>
  readonly billing_cycles: ReadonlyArray<string>
  readonly fee_codes: ReadonlyArray<string>
}

/** A state's law on a line. */
export interface StateLaw {
  /** The lowest limits that may be sold. */
  readonly liability_minimum?: LiabilityMinimum
  readonly credit_use?: CreditUse
}

/** The properties of a line besides its facts. */
export interface Traits<Name extends string = string, HasCredit extends boolean = boolean> {
  /** Its name on the wire: `personal_auto`. */
  readonly name: Name
  /** The object of "Insurance for …", as in "Insurance for rented homes". */
  readonly insures: string
  readonly codes: Codes
  /** What the codes mean, by code. */
  readonly meanings: Readonly<Record<string, string>>
  /** The keys of the disclosures that only this line has. */
  readonly disclosures: ReadonlyArray<string>
  /** The law of a state; empty if it has no rules for this line. */
  readonly stateLaw: (state: StateCode) => StateLaw
  /** Whether carriers may use credit information if the person has read the credit disclosure. */
  readonly has_credit_disclosure: HasCredit
  /** Whether the premium is known to include all fees. False means unknown. */
  readonly premium_includes_fees: boolean
  /** Whether the feed has events of quotes. If not, it has only events of quote requests. */
  readonly has_quote_events: boolean
}

/** What the service knows about an application when it is rated or sent to a carrier. */
export interface RatedApplication<Facts = unknown> {
  readonly line: string
  /** The complete facts, with the assumed ones. */
  readonly facts: Facts
}

/**
 * An insurance line, as `defineLine` makes it.
 *
 * `Sent` are its facts as a caller sends them, `Facts` the complete ones, with the assumed ones added. `HasCredit` says
 * whether its starts take a receipt of the credit disclosure.
 */
export interface Line<
  Name extends string = string,
  Facts extends object = object,
  Sent extends object = object,
  HasCredit extends boolean = boolean
> extends Traits<Name, HasCredit> {
  /** The JSON Schema (2020-12) of `application`. */
  readonly facts_schema: JsonSchema.JsonSchema
  /** The smallest application that can be priced, for a first call. */
  readonly example: Sent
  /**
   * The facts without which there is no price.
   *
   * If there are alternatives (a VIN, or model year, make and model), the list has those that are price facts.
   */
  readonly required_facts: ReadonlyArray<RequiredFact>
  /** The paths of all facts that affect a price, from `application`, with 0 for the first item of a list. */
  readonly price_paths: ReadonlyArray<string>
  /** The paths of all facts, with `*` for every item of a list. */
  readonly fact_paths: ReadonlyArray<string>
  /** The paths of the optional facts that identify a person, with `*` for every item of a list. */
  readonly identifying_paths: ReadonlyArray<string>
  /** Describes a fact that carriers need beyond the required ones. */
  readonly neededFact: (need: string) => RequiredFact
  /**
   * Reads the facts that a caller sent.
   *
   * Reports every problem, at its path from `application`; `refusalOf` turns them into the refusal. `today` is the
   * workspace's day, `YYYY-MM-DD`.
   */
  readonly read: (input: unknown, today: string) => Result.Result<Application, Problems>
  /** Adds the assumed facts to facts that were read before; null if the facts no longer fit the line's schema. */
  readonly complete: (facts: unknown, today: string) => Assumed | null
  /** The facts of an application or an ask of this line, with their type. Throws if it is of another line. */
  readonly factsOf: (application: RatedApplication) => Facts
  /** The faults of the definition, by its paths; none if a host can offer the line. */
  readonly faults: () => ReadonlyArray<FieldError>
}
