import { Schema } from "effect"
import type { CallerKind, Environment } from "../access/Caller.ts"
import { dependsOnLines } from "../lines/HostSchema.ts"
import type { Line } from "../lines/Line.ts"
import type { LineSet } from "../lines/Lines.ts"
import * as ApiError from "../wire/ApiError.ts"
import { type FieldError, joinWrongFields, type WrongFields } from "../wire/FieldError.ts"
import { ReceiptId } from "../wire/Ids.ts"
import { Timestamp } from "../wire/Timestamp.ts"

/*
 * Errors about consent say that the person must be asked, but never what to send (api.md, Refusals about consent). A
 * model does what an error says, so it would otherwise make up a consent that nobody gave.
 */
const noReceipt = "This is not a receipt of the person's consent. Ask the person, and never make up a receipt."
const notAsked = "The person's consent is missing. Ask the person."
const notRead = "The person has not read the current quote disclosure. Show it to the person, and ask."
const notAgreed = "The person did not agree. Ask the person."
const noContact = "The person has not consented to be contacted in this way. Ask the person."

/** A reference to evidence of consent. The company that spoke to the person created the evidence and keeps it. */
const ReceiptReference = Schema.String.annotate({ message: noReceipt }).check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_-]{7,127}$/u, {
    expected: "8 to 128 letters, digits, _ or -, starting with a letter or digit",
    message: noReceipt
  })
)

/** The ways in which a person can be contacted. */
export const channels = ["email", "sms", "phone"] as const

const Agreed = Schema.Boolean.annotate({ message: noContact })

/** The receipt for the credit disclosure, for lines that have a credit disclosure. */
const creditReceipt = (provider: string) =>
  Schema.optionalKey(ReceiptReference).annotateKey({
    description: `${provider}: the person has read the credit disclosure.`
  })

const creditReceiptOf = (lines: LineSet) => {
  const names = [...lines.values()].filter((line) => line.has_credit_disclosure).map(({ name }) => name)
  return creditReceipt(names.length === 0 ? "Not used by any line of this host" : `${names.join(", ")} only`)
}

/** The fields of a start call that contain consents (api.md, Consents). Each receipt covers one consent. */
export const fields = {
  consent_receipt_id: Schema.optionalKey(ReceiptReference).annotateKey({
    description: "Consent for the service to get quotes; required with a key. Never invent one."
  }),
  credit_disclosure_receipt_id: dependsOnLines(creditReceipt("Some lines only"), creditReceiptOf),
  contact_consent: Schema.optionalKey(
    Schema.Struct({
      receipt_id: ReceiptReference.annotateKey({ messageMissingKey: notAsked }).annotateKey({
        description: "The receipt of the person's consent. Never invent one"
      }),
      channels: Schema.Array(Schema.Literals(channels).annotate({ message: noContact }))
        .annotate({ message: noContact })
        .check(Schema.isMaxLength(3), Schema.isUnique())
        .annotateKey({ description: "The ways of contact that the consent covers" })
    }).annotate({ message: notAsked })
  ).annotateKey({ description: "Consent for carriers to contact the person" }),
  contact_channels: Schema.optionalKey(
    Schema.Struct({
      email: Schema.optionalKey(Agreed).annotateKey({ description: "By e-mail" }),
      sms: Schema.optionalKey(Agreed).annotateKey({ description: "By text message" }),
      phone: Schema.optionalKey(Agreed).annotateKey({ description: "By phone" })
    })
  ).annotateKey({ description: "How the person may be contacted: only in ways that `contact_consent` covers" }),
  quote_disclosure_version: Schema.optionalKey(Schema.String.annotate({ message: notRead })).annotateKey({
    description: "Required without a key: the version of the quote disclosure that the person has read."
  }),
  quote_disclosure_accepted: Schema.optionalKey(Schema.Boolean.annotate({ message: notAgreed })).annotateKey({
    description: "Required without a key: true once the person has agreed. An agent cannot agree for a person."
  })
}

const Consents = Schema.Struct(fields)
/** The consents in a start call, as sent. */
export type Consents = typeof Consents.Type

/** The kinds of consent that a receipt can cover. */
export const receiptKinds = ["quote_consent", "credit_disclosure", "contact_consent"] as const

/** A receipt that was sent with a start call. */
export interface SentReceipt {
  readonly kind: (typeof receiptKinds)[number]
  readonly receipt: string
  /** The contact channels that the receipt covers. */
  readonly channels: ReadonlyArray<string>
}

/** The receipts among a start call's consents. */
export const receiptsOf = (consents: Consents): ReadonlyArray<SentReceipt> => {
  const { consent_receipt_id, credit_disclosure_receipt_id, contact_consent } = consents
  const sentReceipts: Array<SentReceipt> = []
  const add = (kind: SentReceipt["kind"], receipt: string | undefined, agreedChannels: ReadonlyArray<string> = []) => {
    if (receipt !== undefined) sentReceipts.push({ kind, receipt, channels: agreedChannels })
  }
  add("quote_consent", consent_receipt_id)
  add("credit_disclosure", credit_disclosure_receipt_id)
  add("contact_consent", contact_consent?.receipt_id, contact_consent?.channels)
  return sentReceipts
}

/** The disclosure that every caller without a key gets, and to which a person must agree. */
export interface Disclosure {
  readonly version: string
}

/** Checks a start call's consents against its caller. Reports every mistake at its path. */
export const check = (
  consents: Consents,
  caller: CallerKind,
  line: Line,
  disclosure: Disclosure
): ReadonlyArray<FieldError> =>
  caller === "keyless"
    ? checkKeyless(consents, disclosure)
    : [...checkReceipts(consents, line), ...checkKeylessFields(consents)]

const checkKeyless = (consents: Consents, disclosure: Disclosure): ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = []
  const refused = ["consent_receipt_id", "credit_disclosure_receipt_id", "contact_consent", "contact_channels"] as const
  for (const path of refused) {
    if (consents[path] !== undefined)
      errors.push({
        path,
        message: "Must not be sent without an API key. Show the person the quote disclosure, and ask them to accept it."
      })
  }
  if (consents.quote_disclosure_version !== disclosure.version) {
    errors.push({ path: "quote_disclosure_version", message: notRead })
  }
  if (consents.quote_disclosure_accepted !== true) {
    errors.push({ path: "quote_disclosure_accepted", message: notAgreed })
  }
  return errors
}

const checkKeylessFields = (consents: Consents): ReadonlyArray<FieldError> =>
  (["quote_disclosure_version", "quote_disclosure_accepted"] as const).flatMap((path) =>
    consents[path] === undefined ? [] : [{ path, message: "Allowed only without an API key. Ask the person." }]
  )

const checkReceipts = (consents: Consents, line: Line): ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = []
  if (consents.consent_receipt_id === undefined) {
    errors.push({ path: "consent_receipt_id", message: notAsked })
  }
  if (consents.credit_disclosure_receipt_id !== undefined && !line.has_credit_disclosure) {
    errors.push({
      path: "credit_disclosure_receipt_id",
      message: "Not allowed for this line, which has no credit disclosure. Leave it out."
    })
  }
  return [...errors, ...checkDistinct(consents), ...checkChannels(consents)]
}

/** Reports both fields if the same receipt was sent in two fields. */
const checkDistinct = (consents: Consents): ReadonlyArray<FieldError> => {
  const receipts = [
    ["consent_receipt_id", consents.consent_receipt_id],
    ["credit_disclosure_receipt_id", consents.credit_disclosure_receipt_id],
    ["contact_consent.receipt_id", consents.contact_consent?.receipt_id]
  ] as const
  return receipts.flatMap(([path, receipt], index) =>
    receipt !== undefined && receipts.some(([, other], position) => position !== index && other === receipt)
      ? [{ path, message: "Each receipt covers one consent and goes into one field only. Ask the person for each." }]
      : []
  )
}

const checkChannels = (consents: Consents): ReadonlyArray<FieldError> => {
  const { contact_channels, contact_consent } = consents
  if (contact_channels === undefined) return []
  if (contact_consent === undefined) {
    return [{ path: "contact_channels", message: noContact }]
  }
  return channels.flatMap((channel) =>
    contact_channels[channel] === true && !contact_consent.channels.includes(channel)
      ? [{ path: `contact_channels.${channel}`, message: noContact }]
      : []
  )
}

/** The fields whose values only the person can give. An error at one of these paths is about consent. */
const givenByPerson: ReadonlySet<string> = new Set([
  "consent_receipt_id",
  "credit_disclosure_receipt_id",
  "contact_consent",
  "contact_consent.receipt_id",
  "contact_consent.channels",
  ...channels.map((_, index) => `contact_consent.channels.${index}`),
  "contact_channels",
  ...channels.map((channel) => `contact_channels.${channel}`),
  "quote_disclosure_version",
  "quote_disclosure_accepted"
])

/**
 * Makes the error for a start call with wrong fields.
 *
 * Fields about consent come first. If there are such fields, the retry action says to ask the person before sending the
 * call again.
 */
export const refuse = (wrongFields: WrongFields): ApiError.ApiError<"invalid_input"> => {
  const aboutConsent = wrongFields.found.filter(({ path }) => givenByPerson.has(path))
  if (aboutConsent.length === 0) return ApiError.invalidInput(wrongFields)
  const callerErrors = wrongFields.found.filter(({ path }) => !givenByPerson.has(path))
  const refusal = ApiError.invalidInput(joinWrongFields(aboutConsent, { found: callerErrors, more: wrongFields.more }))
  return ApiError.make("invalid_input", {
    message: `${refusal.message} Only the person can consent: ask the person.`,
    field_errors: refusal.field_errors ?? [],
    retry_action: "none"
  })
}

/** The error for a start call to which the person did not consent. */
export const refused: ApiError.ApiError<"invalid_input"> = refuse(
  joinWrongFields([{ path: "consent_receipt_id", message: "The person has not consented. Ask the person." }])
)

/** The error for an otherwise valid start call about which the person has not been asked yet. */
export const pending: ApiError.ApiError<"invalid_input"> = refuse(
  joinWrongFields([{ path: "quote_disclosure_accepted", message: notAgreed }])
)

/** The error for a start call that the person was asked about and declined. Retries of that call get the same error. */
export const declined: ApiError.ApiError<"invalid_input"> = ApiError.make("invalid_input", {
  message:
    "The person was asked for consent and declined. Nothing was sent to a carrier. Tell the person so, and do not try again.",
  retry_action: "none"
})

/**
 * How the person was asked. `elicitation`: in a form that the agent program showed. `argument`: the caller says that it
 * asked the person.
 */
export const askedBy = ["elicitation", "argument"] as const

/** The service's own record that a keyless caller's person agreed, shown as `quote_consent`. */
export const QuoteConsent = Schema.Struct({
  receipt_id: ReceiptId.annotateKey({ description: "The identifier of the record" }),
  kind: Schema.Literal("quote_disclosure").annotateKey({ description: "The kind of consent" }),
  recorded_by: Schema.Literal("service").annotateKey({ description: "Who recorded it" }),
  line: Schema.String.annotateKey({ description: "The line that it is for" }),
  disclosure_key: Schema.String.annotateKey({ description: "The name of the text that the person agreed to" }),
  disclosure_version: Schema.String.annotateKey({ description: "The version of the text" }),
  text_sha256: Schema.String.annotateKey({ description: "The SHA-256 of the text in hexadecimal" }),
  locale: Schema.String.annotateKey({ description: "The language of the text" }),
  accepted_at: Timestamp.annotateKey({ description: "When the person agreed" }),
  asked_by: Schema.optionalKey(Schema.Literals(askedBy)).annotateKey({
    description:
      "How the person was asked: `elicitation`: the program showed the text and the person answered; `argument`: the caller says that the person agreed"
  })
}).annotate({ identifier: "QuoteConsent" })
export type QuoteConsent = typeof QuoteConsent.Type

/** The key and version of a text that is shown to a person. */
export interface DisclosureKey {
  readonly key: string
  readonly version: string
}

/** The version of all disclosure texts. */
export const disclosureVersion = "2026-09-26"

const byEnvironment: { readonly [E in Environment]: ReadonlyArray<string> } = {
  sandbox: ["sandbox_notice"],
  live: ["license_and_producer", "ca_privacy_notice", "glba_privacy_notice"]
}

/** The disclosures for a line in an environment. */
export const disclosuresOf = (line: Line, environment: Environment): ReadonlyArray<DisclosureKey> =>
  [
    "quote_not_coverage",
    "not_market_comparison",
    "who_receives_facts",
    "premium_whole_term",
    ...line.disclosures,
    ...byEnvironment[environment]
  ].map((key) => ({ key, version: disclosureVersion }))

/** The text that a person must agree to if the caller has no key (api.md, Quote disclosure). */
export const QuoteDisclosure = Schema.Struct({
  version: Schema.String.annotateKey({ description: "The version of the text" }),
  text: Schema.String.annotateKey({ description: "The text to show to the person, word for word" }),
  text_sha256: Schema.String.annotateKey({ description: "The SHA-256 of the text in hexadecimal" }),
  locale: Schema.String.annotateKey({ description: "The language of the text" }),
  covers: Schema.Array(Schema.Literal("quote_request")).annotateKey({
    description: "What the agreement covers: nothing but the quote request"
  })
}).annotate({ identifier: "QuoteDisclosure" })
export type QuoteDisclosure = typeof QuoteDisclosure.Type

/** The key of the quote disclosure, which is the text that the person agrees to. */
export const quoteDisclosureKey = "who_receives_facts"

/** The current text of the quote disclosure, which the person agrees to. */
export const quoteDisclosureText =
  "The facts you give are sent to the insurance carriers that serve your state, so that they can offer you a price. " +
  "A quote is an offer of a price and not coverage; the carrier sets the final price after its review. " +
  "Not every carrier is asked, and nothing here ranks or recommends one. " +
  "You agree to this use for quoting only: nobody may contact you because of it."

/** Makes the quote disclosure, given the SHA-256 hash of its text in hex. */
export const quoteDisclosure = (text_sha256: string): QuoteDisclosure => ({
  version: disclosureVersion,
  text: quoteDisclosureText,
  text_sha256,
  locale: "en-US",
  covers: ["quote_request"]
})
