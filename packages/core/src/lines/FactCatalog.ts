import personalAuto from "./data/personal_auto.json" with { type: "json" }
import pet from "./data/pet.json" with { type: "json" }
import renters from "./data/renters.json" with { type: "json" }
import type { JsonSchema } from "./JsonSchemaCheck.ts"
import type { Line } from "./Line.ts"

/** A fact without which no price can be made. */
export interface RequiredFact {
  /** Below `application`, with 0 for the first of a list, as in `drivers.0.date_of_birth`. */
  readonly path: string
  /** What to ask a person for. */
  readonly label: string
  readonly tier: string
  /** `direct` identifies a person, `indirect` does with others; null: neither. */
  readonly pii: string | null
}

const schemas: { readonly [L in Line]: JsonSchema } = { personal_auto: personalAuto, renters, pet }

/** The JSON Schema of the facts of a line, as it is served. */
export const schemaOf = (line: Line): JsonSchema => schemas[line]

/** What a person calls each fact that can be required, by path with `*` for a number. */
export const labels: { readonly [L in Line]: { readonly [path: string]: string } } = {
  personal_auto: {
    "garaging_address.state": "State where the car is kept",
    "garaging_address.zip": "ZIP code where the car is kept",
    "drivers.*.relationship": "Who the driver is to the applicant, the first one being the applicant",
    "drivers.*.date_of_birth": "Date of birth of the driver",
    "drivers.*.license_status": "Status of the driver's license",
    "drivers.*.incidents.*.type": "Kind of incident",
    "drivers.*.incidents.*.month": "Month of the incident",
    "vehicles.*.vin": "VIN of the vehicle",
    "vehicles.*.model_year": "Model year of the vehicle",
    "vehicles.*.make": "Make of the vehicle",
    "vehicles.*.model": "Model of the vehicle",
    "coverage.bodily_injury_per_person_usd": "Bodily injury limit for each person",
    "coverage.bodily_injury_per_accident_usd": "Bodily injury limit for each accident",
    "coverage.property_damage_usd": "Property damage limit",
    "prior_insurance.status": "Whether there is car insurance now"
  },
  renters: {
    "dwelling.address.state": "State of the rented home",
    "dwelling.address.zip": "ZIP code of the rented home",
    "dwelling.type": "Kind of home"
  },
  pet: {
    "residence.state": "State where the pet lives",
    "residence.zip": "ZIP code where the pet lives",
    "pets.*.species": "Dog or cat",
    "pets.*.breed": "Breed of the pet",
    "pets.*.size": "Size of a dog of mixed or unknown breed",
    "pets.*.birth_month": "Month of birth of the pet",
    "pets.*.age_years": "Age of the pet in years"
  }
}

interface Fact {
  readonly path: string
  readonly schema: JsonSchema
  readonly required: boolean
}

/** All facts of a schema, in its order; what is required only inside an optional object is not required. */
const factsOf = (schema: JsonSchema, path: string, required: boolean): ReadonlyArray<Fact> => {
  if (schema.items !== undefined) return factsOf(schema.items, `${path}.0`, required)
  if (schema.properties === undefined) return [{ path, schema, required }]
  const names = new Set([...(schema.required ?? []), ...(schema.anyOf ?? []).flatMap((way) => way.required)])
  return Object.entries(schema.properties).flatMap(([name, member]) =>
    member === undefined ? [] : factsOf(member, path === "" ? name : `${path}.${name}`, required && names.has(name))
  )
}

const requiredOf = (line: Line): ReadonlyArray<RequiredFact> =>
  factsOf(schemas[line], "", true)
    .map(({ path, schema, required }) => ({
      path,
      label: labels[line][path.replaceAll(".0", ".*")] ?? path,
      // A fact that is required and has no tier is needed for a price like the others.
      tier: schema["x-tier"] ?? "price",
      pii: schema["x-pii"] ?? null,
      required
    }))
    .filter(({ required, tier }) => required && tier === "price")
    .map(({ required: _, ...fact }) => fact)

const priceTierOf = (line: Line): ReadonlyArray<string> =>
  factsOf(schemas[line], "", true)
    .filter(({ schema }) => schema["x-tier"] === "price")
    .map(({ path }) => `application.${path}`)

const required = { personal_auto: requiredOf("personal_auto"), renters: requiredOf("renters"), pet: requiredOf("pet") }
const priceTier = {
  personal_auto: priceTierOf("personal_auto"),
  renters: priceTierOf("renters"),
  pet: priceTierOf("pet")
}

/**
 * The facts of a line without which there is no price, for capabilities.
 *
 * Where one of several will do (a VIN, or model year, make and model), those that are price facts are listed.
 */
export const requiredFacts = (line: Line): ReadonlyArray<RequiredFact> => required[line]

/** The paths of all price facts of a line, from `application`, with 0 for the first of a list. */
export const priceTierPaths = (line: Line): ReadonlyArray<string> => priceTier[line]

/** A schema in which more facts are required: paths with `*` for every item of a list. */
export const requiring = (schema: JsonSchema, paths: ReadonlyArray<string>): JsonSchema =>
  paths.reduce((whole, path) => requireAt(whole, path.split(".")), schema)

const requireAt = (schema: JsonSchema, [name, ...rest]: ReadonlyArray<string>): JsonSchema => {
  if (name === undefined) return schema
  if (name === "*") return schema.items === undefined ? schema : { ...schema, items: requireAt(schema.items, rest) }
  const member = schema.properties?.[name]
  if (member === undefined) return schema
  return {
    ...schema,
    properties: { ...schema.properties, [name]: requireAt(member, rest) },
    required: [...new Set([...(schema.required ?? []), name])]
  }
}

/** A fact that carriers need beyond the required ones, as it is listed. */
export const neededFact = (line: Line, need: string): RequiredFact => {
  const path = need.replaceAll("*", "0")
  const schema = factsOf(schemas[line], "", true).find((fact) => fact.path === path)?.schema
  return {
    path,
    label: labels[line][need] ?? path,
    tier: schema?.["x-tier"] ?? "offer",
    pii: schema?.["x-pii"] ?? null
  }
}
