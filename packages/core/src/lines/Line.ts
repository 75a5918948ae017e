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

/** A state's law for a line. */
export interface StateLaw {
  /** The lowest limits that may be sold. */
  readonly liability_minimum?: LiabilityMinimum
  readonly credit_use?: CreditUse
}

/** A line's properties besides its facts. */
export interface Traits<Name extends string = string, HasCredit extends boolean = boolean> {
  /** The line's name on the wire: `personal_auto`. */
  readonly name: Name
  /** What the line insures, to complete the phrase "Insurance for …": `rented homes`. */
  readonly insures: string
  readonly codes: Codes
  /** What the codes mean, by code. */
  readonly meanings: Readonly<Record<string, string>>
  /** The keys of the disclosures that only this line has. */
  readonly disclosures: ReadonlyArray<string>
  /** The law of a state; empty if it has no rules for this line. */
  readonly stateLaw: (state: StateCode) => StateLaw
  /** Whether carriers may use credit information if the person has seen the credit disclosure. */
  readonly has_credit_disclosure: HasCredit
  /** Whether the premium is known to include all fees. False means unknown. */
  readonly premium_includes_fees: boolean
  /** Whether the feed has events of quotes. If not, it has only events of quote requests. */
  readonly has_quote_events: boolean
}

/** What the service knows about an application when it is rated or sent to a carrier. */
export interface RatedApplication<Facts = unknown> {
  readonly line: string
  /** The complete facts, including the assumed ones. */
  readonly facts: Facts
}

/**
 * An insurance line, as `defineLine` makes it.
 *
 * `Sent` is the type of its facts as a caller sends them, `Facts` that of the complete facts, with the assumed ones
 * added. `HasCredit` says whether its starts take a receipt for the credit disclosure.
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
   * If there are alternatives (a VIN, or model year, make and model), the list has the ones that affect the price.
   */
  readonly required_facts: ReadonlyArray<RequiredFact>
  /** The paths of all facts that affect a price, from `application`, with 0 for the first item of a list. */
  readonly price_paths: ReadonlyArray<string>
  /** The paths of all facts, with `*` for every item of a list. */
  readonly fact_paths: ReadonlyArray<string>
  /** The paths of the optional facts that identify a person, with `*` for every item of a list. */
  readonly identifying_paths: ReadonlyArray<string>
  /** Describes a fact that a carrier needs beyond the required ones, by its path in `needs`. */
  readonly neededFact: (need: string) => RequiredFact
  /**
   * Reads the facts that a caller sent.
   *
   * Reports every problem, with its path from `application`; `refusalOf` turns the problems into a refusal. `today` is
   * the workspace's day, `YYYY-MM-DD`.
   */
  readonly read: (input: unknown, today: string) => Result.Result<Application, Problems>
  /** Adds the assumed facts to facts that were read earlier; null if the facts no longer fit the line's schema. */
  readonly complete: (facts: unknown, today: string) => Assumed | null
  /**
   * The facts of an application or an ask for this line, with their type. Throws if the application is for another
   * line.
   */
  readonly factsOf: (application: RatedApplication) => Facts
  /** The faults of the definition, by their paths in it; empty if a host can offer the line. */
  readonly faults: () => ReadonlyArray<FieldError>
}
