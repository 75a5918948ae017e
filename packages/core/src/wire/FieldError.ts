import { Schema } from "effect"
import { BrokenRule } from "./BrokenRule.ts"
import * as PlainText from "./PlainText.ts"

/* How wrong fields are reported, and how many of them an error lists. */

/** One wrong or missing field. The message never repeats the wrong value. */
export const FieldError = Schema.Struct({
  ...BrokenRule.fields,
  path: Schema.String.annotate({
    description:
      "Names and zero-based indexes, joined by dots, as in application.vehicles.0.vin; empty in a last entry that counts the rest"
  }),
  allowed_values: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({
    description: "The values that the field can have, if it is a choice"
  })
}).annotate({ identifier: "FieldError" })
export type FieldError = typeof FieldError.Type

/** Wrong fields: some of them in detail, and how many more there are. */
export interface WrongFields {
  readonly found: ReadonlyArray<FieldError>
  readonly more: number
}

/** The maximum number of fields that an error lists. */
export const maxListed = 100

/**
 * The maximum number of wrong fields that are counted, because counting each field takes time. A higher count is
 * reported as "more than" this number.
 */
export const maxCounted = 10_000

/** The maximum length of a path. Longer paths are truncated, because a name in a path can be as long as a body. */
const maxPath = 256

/**
 * The maximum number of allowed values that an error lists in total. Once it is reached, fields are listed without
 * their allowed values.
 */
const maxAllowedValues = 1_000

/** Makes a collector of wrong fields. It keeps the first hundred fields in detail, and counts the others. */
export const collector = () => {
  const errors: Array<FieldError> = []
  let moreCount = 0
  return {
    add: (error: () => FieldError): void => {
      if (errors.length < maxListed) errors.push(error())
      else moreCount += 1
    },
    all: (): WrongFields => ({ found: errors, more: moreCount })
  }
}

/** Combines wrong fields from several sources, in order. */
export const joinWrongFields = (...places: ReadonlyArray<WrongFields | ReadonlyArray<FieldError>>): WrongFields => {
  const collected = places.map((place) => ("found" in place ? place : { found: place, more: 0 }))
  return { found: collected.flatMap(({ found }) => found), more: collected.reduce((sum, { more }) => sum + more, 0) }
}

/** The number of wrong fields. */
export const countOf = ({ found, more }: WrongFields): number => found.length + more

/**
 * The fields that an error lists: the first hundred fields, and a last entry with an empty path that counts the others.
 */
export const limitFields = (wrongFields: WrongFields, noun: string): ReadonlyArray<FieldError> => {
  let values = 0
  const entries = wrongFields.found.slice(0, maxListed).map(({ path, message, allowed_values }): FieldError => {
    values += allowed_values?.length ?? 0
    return {
      path: shortened(path),
      message,
      ...(allowed_values !== undefined && values <= maxAllowedValues && { allowed_values })
    }
  })
  const moreCount = countOf(wrongFields) - entries.length
  return moreCount === 0
    ? entries
    : [...entries, { path: "", message: `… and ${pluralize(moreCount, `more ${noun}`)}.` }]
}

/** The maximum number of fields that an error's message names. */
const maxNamed = 3

/**
 * The maximum length of a field's description in an error's message. A longer description leaves out the allowed
 * values.
 */
const maxDescription = 300

/** The message about a value that is not one of a field's allowed values. Readers find the allowed values beside it. */
export const notAllowed = "Must be one of the allowed values."

/** Describes what a wrong field must be: its message, and the allowed values unless the message lists them already. */
export const descriptionOf = ({ message, allowed_values = [] }: Omit<FieldError, "path">): string => {
  if (message === notAllowed) return `Must be one of ${allowed_values.join(", ")}.`
  if (allowed_values.every((value) => message.includes(value))) return message
  return `${message} Allowed: ${allowed_values.join(", ")}.`
}

/**
 * The message of an error with wrong fields. If there is only one wrong field, the message describes that field;
 * otherwise it names the first three fields. It never repeats a value.
 */
export const wrongFieldsMessage = (wrong: WrongFields): string => {
  const [first] = wrong.found
  if (first === undefined) return "The input is not valid."
  if (countOf(wrong) > 1) return `${capitalized(pluralize(countOf(wrong), "field"))} are not valid: ${namesOf(wrong)}.`
  const name = first.path === "" ? "The input" : quoted(first)
  const description = descriptionOf(first)
  return `${name} is not valid. ${description.length > maxDescription ? first.message : description}`
}

/** The message of an error with missing facts. It names the first three facts. */
export const missingFactsMessage = (missing: WrongFields): string =>
  countOf(missing) === 1
    ? `One required fact is missing: ${namesOf(missing)}.`
    : `${capitalized(pluralize(countOf(missing), "required fact"))} are missing: ${namesOf(missing)}.`

const namesOf = (wrong: WrongFields): string => {
  const names = wrong.found.slice(0, maxNamed).map(quoted)
  const moreCount = countOf(wrong) - names.length
  const last =
    moreCount === 0 ? names.pop() : countOf(wrong) > maxCounted ? "more" : `${moreCount.toLocaleString("en-US")} more`
  return names.length === 0 ? `${last}` : `${names.join(", ")} and ${last}`
}

/**
 * The wrong fields that an error's message does not describe completely, for programs that list these fields below the
 * message.
 */
export const undescribed = ({
  field_errors,
  message
}: {
  readonly field_errors: ReadonlyArray<FieldError> | null
  readonly message: string
}): ReadonlyArray<FieldError> => (field_errors ?? []).filter((field) => !message.includes(descriptionOf(field)))

/** A field's path in quotation marks, as messages show it. */
export const quoted = ({ path }: Pick<FieldError, "path">): string => `"${shortened(path)}"`

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/**
 * Writes a count with its noun, such as "1 more wrong field", "3,912 more wrong fields" or "more than 10,000 more wrong
 * fields".
 */
export const pluralize = (count: number, noun: string): string => {
  const counted = Math.min(count, maxCounted).toLocaleString("en-US")
  return `${count > maxCounted ? "more than " : ""}${counted} ${noun}${count === 1 ? "" : "s"}`
}

/**
 * A path as errors show it. The names of unknown fields come from the caller, so they are escaped for terminals and
 * models.
 */
const shortened = (path: string): string => {
  const shownPath = PlainText.escaped(path.slice(0, maxPath + 1))
  return shownPath.length <= maxPath ? shownPath : `${shownPath.slice(0, maxPath).replace(/[\ud800-\udbff]$/, "")}…`
}
