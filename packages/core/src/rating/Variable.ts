import type { CoverageItem } from "../carriers/Carrier.ts"
import type { Assumption, Subject } from "../lines/Application.ts"
import * as State from "../lines/State.ts"

/** A variable's value. Tables write it as a string, such as `"500"` or `"true"`. */
export type Value = string | number | boolean

/** The values that a variable can have: listed values, whole numbers, or text in a given format, such as a ZIP code. */
export type Domain =
  | {
      readonly kind: "values"
      readonly all: ReadonlyArray<Value>
      /** Returns the values that can occur in these states. If absent, all values can occur in every state. */
      readonly inStates?: (states: ReadonlyArray<State.StateCode>) => ReadonlyArray<Value>
    }
  | { readonly kind: "number"; readonly minimum: number; readonly maximum: number }
  | { readonly kind: "text"; readonly form: RegExp; readonly expected: string }

/** A fact that rate plans can refer to by name. */
export interface Variable {
  readonly domain: Domain
  /** Whether the fact's value can be unknown. */
  readonly may_be_unknown: boolean
  /** Whether the fact can have several values. A table then gives one factor for each value. */
  readonly is_list: boolean
  /** The only coverage that the fact is about; absent if it is about all coverages. */
  readonly cover?: string
}

type Options = Partial<Omit<Variable, "domain">>

const variable = (domain: Domain, options: Options): Variable => ({
  domain,
  may_be_unknown: false,
  is_list: false,
  ...options
})

/** A variable with listed values. */
export const oneOf = (values: ReadonlyArray<Value>, options: Options = {}): Variable =>
  variable({ kind: "values", all: values }, options)

/** A variable that is true or false. */
export const yesNo = (options: Options = {}): Variable => oneOf([true, false], options)

/** A variable that is a whole number. A value outside the range is treated as the nearest number in the range. */
export const number = (minimum: number, maximum: number, options: Options = {}): Variable =>
  variable({ kind: "number", minimum, maximum }, options)

/** The number in a range that is nearest to a value. */
export const nearest = (value: number, minimum: number, maximum: number): number =>
  Math.min(maximum, Math.max(minimum, value))

/** A line's variables, for the policy, for each subject and for each driver. */
export interface Variables {
  readonly policy: { readonly [name: string]: Variable }
  readonly subject: { readonly [name: string]: Variable }
  readonly driver: { readonly [name: string]: Variable }
}

/** The values of variables, by name. */
export type Known<Names extends string = string> = {
  readonly [N in Names]: Value | ReadonlyArray<string> | undefined
}

/** The variables that all lines have. */
export const sharedVariables = {
  state: variable({ kind: "values", all: State.servedStates, inStates: (states) => states }, {}),
  zip: variable({ kind: "text", form: /^[0-9]{5}$/, expected: "five digits" }, {}),
  zip3: variable({ kind: "text", form: /^[0-9]{3}$/, expected: "three digits" }, {}),
  zip3_group: oneOf([0, 1, 2, 3, 4]),
  billing_preference: oneOf(["pay_in_full", "monthly"])
} as const satisfies Variables["policy"]

/** The values of the variables that all lines have. */
export const sharedKnown = (
  address: { readonly state: State.StateCode; readonly zip: string },
  billing_preference: string
): Known<keyof typeof sharedVariables> => {
  const zip3 = address.zip.slice(0, 3)
  return {
    state: address.state,
    zip: address.zip.slice(0, 5),
    zip3,
    // Spreads neighboring ZIP codes over groups, which the fictional plans use as made-up territories.
    zip3_group: (7 * Number(zip3) + 3) % 5,
    billing_preference
  }
}

/** A subject to rate, with its variables and coverages. */
export interface RatedSubject {
  readonly subject: Subject
  /** The values of the subject's variables and the policy's variables. */
  readonly known: Known
  /** The coverages that are bought for the subject. */
  readonly covers: ReadonlyArray<string>
  /** The subject's coverages as an offer lists them. */
  readonly coverages: ReadonlyArray<CoverageItem>
}

/** An application in the form that rate plans need. */
export interface Risk {
  readonly state: State.StateCode
  readonly effective_date: string
  readonly billing_preference: string
  readonly policy: Known
  readonly subjects: ReadonlyArray<RatedSubject>
  /** For each driver, the values of the driver's variables and the policy's variables. */
  readonly drivers: ReadonlyArray<Known>
  /** What the price depends on, as sentences for a person. */
  readonly conditions: ReadonlyArray<string>
  /** The values that the carrier itself has filled in or replaced. */
  readonly assumptions: ReadonlyArray<Assumption>
}
