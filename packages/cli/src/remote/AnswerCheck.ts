import { type ApiError, Input, operations } from "@quotewire/core"
import type { ConnectOptions } from "@quotewire/http/client"
import { Predicate, Schema } from "effect"

/**
 * Finds the first wrong field in a host's response; null if all fields are valid. The host may be newer than this
 * program, so unknown fields and values are valid.
 */
export const check: NonNullable<ConnectOptions["check_answer"]> = (operation, answer) =>
  findingsOf(operation)(answer).find((error) => !isNewerValue(error, answer) && !isOfAction(error)) ?? null

const compiled = new Map<string, (answer: unknown) => ReadonlyArray<ApiError.FieldError>>()

const findingsOf = (name: string) => {
  const output = operations.find((operation) => operation.name === name)?.output ?? Schema.Unknown
  const findings = compiled.get(name) ?? Input.findings(Schema.toEncoded(output))
  compiled.set(name, findings)
  return findings
}

/**
 * Whether a field contains a string that is not among the known values. A newer host may have more values, such as a
 * new kind of resource. Currencies are excluded, because every amount is displayed in US dollars, even an amount in a
 * different currency.
 */
const isNewerValue = ({ allowed_values, path }: ApiError.FieldError, answer: unknown): boolean =>
  allowed_values !== undefined &&
  !path.endsWith(".currency") &&
  Predicate.isString(path.split(".").reduce(memberOf, answer))

/**
 * Whether a field belongs to a next action. In next actions, a newer host can add fields that are neither strings nor
 * numbers. The type and the URL are shown to people, so they must be strings.
 */
const isOfAction = ({ path }: ApiError.FieldError): boolean => /(^|\.)next_actions\.\d+\.(?!(?:type|url)$)/.test(path)

const memberOf = (value: unknown, name: string): unknown =>
  Predicate.isObjectKeyword(value) ? Reflect.get(value, name) : undefined
