import { assert } from "@effect/vitest"
import { Result } from "effect"
import { type Application, refusalOf } from "../../src/lines/Application.ts"
import type { Line } from "../../src/lines/Line.ts"
import { type StandardLineName, standardLines } from "../../src/lines/standard.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"

/* The smallest applications, ways to change them, and the answers to them. */

const today = "2026-11-20"

type Json = { readonly [name: string]: unknown }

export const driver = { relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }
export const vehicle = { model_year: 2019, make: "Honda", model: "Civic" }
export const auto = { garaging_address: { state: "TX", zip: "75201" }, drivers: [driver], vehicles: [vehicle] }
export const renters = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
export const dog = { species: "dog", breed: "mixed", size: "medium", age_years: 3 }
export const pets = {
  residence: { state: "TX", zip: "78701" },
  pets: [dog, { species: "cat", breed: "domestic_shorthair", birth_month: "2024-05" }]
}

export const withDriver = (change: Json) => ({ ...auto, drivers: [{ ...driver, ...change }] })
export const withVehicle = (change: Json) => ({ ...auto, vehicles: [{ ...vehicle, ...change }] })
export const withPet = (change: Json) => ({ ...pets, pets: [{ ...dog, ...change }] })
export const without = (value: Json, ...names: ReadonlyArray<string>): Json =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))

/** A standard line, by name. */
export const lineNamed = (name: StandardLineName): Line => {
  const line = standardLines.find((standard) => standard.name === name)
  return line ?? assert.fail(name)
}

/** The result of reading facts, with the refusal as a caller sees it. */
export const readBy = (line: StandardLineName, input: unknown) =>
  Result.mapError(lineNamed(line).read(input, today), refusalOf)

export const accepted = (line: StandardLineName, input: unknown): Application => {
  const result = readBy(line, input)
  if (Result.isFailure(result)) assert.fail(JSON.stringify(result.failure.field_errors))
  return result.success
}

const refused = (line: StandardLineName, input: unknown): ApiError<"invalid_input"> | ApiError<"needs_information"> => {
  const result = readBy(line, input)
  if (Result.isSuccess(result)) assert.fail("The application was accepted.")
  return result.failure
}

export const errorsOf = (line: StandardLineName, input: unknown, code: string) => {
  const error = refused(line, input)
  assert.strictEqual(error._tag, code)
  return error.field_errors ?? []
}
export const invalid = (line: StandardLineName, input: unknown) => errorsOf(line, input, "invalid_input")
export const invalidPaths = (line: StandardLineName, input: unknown) => invalid(line, input).map((error) => error.path)
export const missingPaths = (line: StandardLineName, input: unknown) =>
  errorsOf(line, input, "needs_information").map((error) => error.path)

export const allowedAt = (line: StandardLineName, input: unknown, path: string): ReadonlyArray<string> | undefined => {
  const error = invalid(line, input).find((one) => one.path === path)
  assert.isDefined(error, path)
  return error?.allowed_values
}
