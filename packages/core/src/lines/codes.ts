import { Struct } from "effect"
import type { Codes } from "./Line.ts"

/* The codes in quotes, and what each of them means. Codes for coverages and subjects are part of each line. */

/** The meaning of each code. */
export type Meanings = Readonly<Record<string, string>>

const billingCycles = {
  pay_in_full: "The whole premium in one payment",
  monthly: "A payment every month",
  two_payments: "Two payments in a term",
  quarterly: "A payment every three months",
  semiannual: "A payment every six months",
  annual: "A payment every year"
}

/** The billing cycles that quotes for all lines use. */
// biome-ignore lint/style/useNamingConvention: embedders pass the codes to their lines under this name
export const billing_cycles = Struct.keys(billingCycles)

/** The fees of the standard lines. Each amount is for the whole term. */
const fees = {
  policy_fee: "For issuing the policy",
  installment_fee: "For paying in installments",
  sr22_filing_fee: "For filing an SR-22 with the state",
  state_fee: "Charged by the state for each vehicle",
  fraud_assessment_fee: "The state's assessment for fighting insurance fraud",
  guaranty_surcharge: "For the state's guaranty fund, which pays the claims of failed carriers",
  inspection_fee: "For inspecting the vehicle or the home",
  membership_fee: "For a membership that the carrier requires",
  enrollment_fee: "For enrolling the pet",
  broker_fee: "Charged by the broker or the agency",
  electronic_payment_fee: "For paying by card or bank transfer"
}

/** The codes of a standard line and their meanings: its coverages, its subjects and its fees. */
export const codesOf = (line: {
  readonly covers: Meanings
  readonly subjects: Meanings
  readonly fees: ReadonlyArray<keyof typeof fees>
}): { readonly codes: Codes; readonly meanings: Meanings } => ({
  codes: {
    coverage_codes: Struct.keys(line.covers),
    subject_kinds: Struct.keys(line.subjects),
    billing_cycles,
    fee_codes: line.fees
  },
  meanings: { ...line.covers, ...line.subjects, ...billingCycles, ...Struct.pick(fees, line.fees) }
})
