import { Schema } from "effect"
import { addDays } from "../wire/CalendarDay.ts"
import type { Assumptions, Problems } from "./Application.ts"
import * as Fact from "./Fact.ts"
import * as State from "./State.ts"

export { billing_cycles } from "./codes.ts"

/*
 * What all lines share: facts about the applicant, addresses, payment and start date, with their rules and assumptions.
 */

const identifying = { "x-pii": "direct", "x-tier": "offer" } as const

/** The applicant's name, date of birth and contact details. All of them are optional. */
export const Applicant = Schema.Struct({
  first_name: Schema.optionalKey(
    Fact.personName({ title: "The person's first name", examples: ["Ana"], ...identifying })
  ),
  last_name: Schema.optionalKey(
    Fact.personName({ title: "The person's last name", examples: ["Silva"], ...identifying })
  ),
  date_of_birth: Schema.optionalKey(
    Fact.day({ title: "The person's date of birth", examples: ["1990-05-17"], ...identifying })
  ),
  email: Schema.optionalKey(
    Fact.email({ title: "The person's e-mail address", examples: ["ana@example.com"], ...identifying })
  ),
  phone: Schema.optionalKey(
    Fact.textLike(/^\+1[2-9][0-9]{9}$/u, "a US phone number: +1 and ten digits", {
      title: "The person's phone number in the US: +1 and ten digits",
      examples: ["+12025550123"],
      ...identifying
    })
  )
}).annotate({ title: "The person who wants the insurance" })

const zip = /^[0-9]{5}(-[0-9]{4})?$/u

/** An address in a served state. `labels` describe the address, and how to ask for its state and ZIP code. */
export const address = (labels: { readonly of?: string; readonly state: string; readonly zip: string }) =>
  Schema.Struct({
    line1: Schema.optionalKey(
      Fact.text(
        { min: 3, max: 100 },
        { title: "Street and house number", examples: ["12 Main Street"], ...identifying }
      )
    ),
    line2: Schema.optionalKey(
      Fact.text({ max: 40 }, { title: "Apartment, unit or floor", examples: ["Apt 3"], ...identifying })
    ),
    city: Schema.optionalKey(
      Fact.text(
        { min: 1, max: 60 },
        { title: "The city", examples: ["Austin"], "x-pii": "indirect", "x-tier": "offer" }
      )
    ),
    state: Fact.choice(State.stateCodes, {
      title: "The state, as a USPS code such as TX",
      label: labels.state,
      "x-tier": "price"
    }),
    zip: Fact.textLike(zip, "a ZIP code: five digits, or five, a hyphen and four", {
      title: "The ZIP code: five digits, or five, a hyphen and four",
      examples: ["78701"],
      label: labels.zip,
      "x-pii": "indirect",
      "x-tier": "price"
    })
  }).annotate(labels.of === undefined ? {} : { title: labels.of })

/** How the policy is paid, and when it starts. */
export const policyFacts = {
  billing_preference: Schema.optionalKey(
    Fact.choice(["pay_in_full", "monthly"], {
      title: "How the person would like to pay: in full, or every month",
      "x-assume": { value: "monthly" }
    })
  ),
  effective_date: Schema.optionalKey(
    Fact.day({
      title: "The day on which the policy should start",
      description: "Requested start date; 0 to 60 days ahead of today. Absent: tomorrow (assumed).",
      examples: ["2026-12-01"],
      "x-tier": "price",
      "x-assume": { value: "tomorrow" }
    })
  )
}

/** The maximum number of days from today until a policy starts. */
const maxDaysAhead = 60

/** Checks the facts that all lines share. `today` is the date in the workspace, `YYYY-MM-DD`. */
export const checkCommon = (
  draft: { readonly applicant?: { readonly date_of_birth?: string }; readonly effective_date?: string },
  today: string,
  problems: Problems
): void => {
  const born = draft.applicant?.date_of_birth
  if (born !== undefined && born > today) {
    problems.refuse("application.applicant.date_of_birth", "Must not be in the future.")
  }
  const start = draft.effective_date
  if (start !== undefined && (start < today || start > addDays(today, maxDaysAhead))) {
    problems.refuse("application.effective_date", `Must be today or at most ${maxDaysAhead} days ahead.`)
  }
}

/** Checks that an address's ZIP code is in its state. */
export const checkAddress = (
  draft: { readonly state?: State.StateCode; readonly zip?: string } | undefined,
  path: string,
  problems: Problems
): void => {
  if (draft?.zip === undefined) return
  const state = State.stateOfZip(draft.zip)
  if (state === null) {
    problems.refuse(`${path}.zip`, "Must be a ZIP code in one of the states in allowed_values.", State.servedStates)
  } else if (draft.state !== undefined && draft.state !== state) {
    problems.refuse(`${path}.zip`, "Must be a ZIP code in the state that was sent.")
  }
}

/** Completes the billing preference and the start date. The assumed values are monthly payment and tomorrow. */
export const completePolicy = (
  facts: { readonly billing_preference?: "pay_in_full" | "monthly"; readonly effective_date?: string },
  today: string,
  assumptions: Assumptions
) => {
  const tomorrow = addDays(today, 1)
  return {
    billing_preference: assumptions.fill(facts.billing_preference, "billing_preference", "monthly", "Paid monthly"),
    effective_date: assumptions.fill(facts.effective_date, "effective_date", tomorrow, `Starts on ${tomorrow}`)
  }
}
