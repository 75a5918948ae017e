import { Function, Record, Schema } from "effect"
import statesFile from "./data/states.json" with { type: "json" }
import uninsuredMotoristFile from "./data/uninsured_motorist.json" with { type: "json" }
import zip3File from "./data/zip3.json" with { type: "json" }

/** The USPS codes of the served states (the fifty states and DC), ordered by state name. */
export const stateCodes = [
  "AL",
  "AK",
  "AZ",
  "AR",
  "CA",
  "CO",
  "CT",
  "DE",
  "DC",
  "FL",
  "GA",
  "HI",
  "ID",
  "IL",
  "IN",
  "IA",
  "KS",
  "KY",
  "LA",
  "ME",
  "MD",
  "MA",
  "MI",
  "MN",
  "MS",
  "MO",
  "MT",
  "NE",
  "NV",
  "NH",
  "NJ",
  "NM",
  "NY",
  "NC",
  "ND",
  "OH",
  "OK",
  "OR",
  "PA",
  "RI",
  "SC",
  "SD",
  "TN",
  "TX",
  "UT",
  "VT",
  "VA",
  "WA",
  "WV",
  "WI",
  "WY"
] as const
/** The USPS code of a served state. */
export type StateCode = (typeof stateCodes)[number]

/** The codes of all served states, in alphabetical order. */
export const servedStates: ReadonlyArray<StateCode> = stateCodes.toSorted()

const Code = Schema.Literals(stateCodes)
const Range = Schema.Tuple([Schema.Int, Schema.Int])

const Row = Schema.Struct({
  auto_index_bp: Schema.Int,
  auto_reference_usd: Schema.Int,
  auto_plausible_usd: Range,
  renters_average_usd: Schema.Int,
  renters_plausible_usd: Range,
  pet_band: Schema.Literals(["A", "B", "C", "D", "E"]),
  liability_minimum_thousands: Schema.Struct({
    bodily_injury_per_person: Schema.Int,
    bodily_injury_per_accident: Schema.Int,
    property_damage: Schema.Int
  }),
  pip: Schema.Boolean,
  credit_use: Schema.Literals(["prohibited", "restricted", "allowed"])
})

/** Whether insurers may use credit information to price car insurance in a state. */
export type CreditUse = (typeof Row.Type)["credit_use"]

/**
 * The lowest liability limits that a state's law allows, in whole US dollars. The fields have the names of the facts.
 */
export interface LiabilityMinimum {
  readonly bodily_injury_per_person_usd: number
  readonly bodily_injury_per_accident_usd: number
  readonly property_damage_usd: number
}

/** A state's data. Amounts are in whole US dollars, and indexes are in ten-thousandths. */
export interface State extends Omit<typeof Row.Type, "liability_minimum_thousands"> {
  readonly code: StateCode
  readonly liability_minimum: LiabilityMinimum
  /** Whether every policy must include uninsured motorist coverage. */
  readonly uninsured_motorist_required: boolean
}

const rows = Schema.decodeUnknownSync(Schema.Record(Code, Row))(statesFile.states)
const requiring = Schema.decodeUnknownSync(Schema.Array(Code))(uninsuredMotoristFile.required_in)

const thousand = 1_000

const states: { readonly [code in StateCode]: State } = Record.map(rows, (row, code) => {
  const { liability_minimum_thousands: minimum, ...rest } = row
  return {
    ...rest,
    code,
    liability_minimum: {
      bodily_injury_per_person_usd: thousand * minimum.bodily_injury_per_person,
      bodily_injury_per_accident_usd: thousand * minimum.bodily_injury_per_accident,
      property_damage_usd: thousand * minimum.property_damage
    },
    uninsured_motorist_required: requiring.includes(code)
  }
})

/** The data of a state, by its code. */
export const get = (code: StateCode): State => states[code]

const Zip3 = Schema.String.check(Schema.isPattern(/^[0-9]{3}$/))
const Zip3File = Schema.Struct({
  states: Schema.Record(Code, Schema.Array(Schema.Tuple([Zip3, Zip3]))),
  exceptions: Schema.Record(Schema.String, Code)
})

/** The table that maps ZIP codes to states. */
interface ZipTable {
  readonly exceptions: ReadonlyMap<string, StateCode>
  /** One entry for each of the thousand prefixes, so that a lookup is a single array access. */
  readonly prefixes: ReadonlyArray<StateCode | null>
}

const zipTableOf = Function.memoize((zip3: object): ZipTable => {
  const file = Schema.decodeUnknownSync(Zip3File)(zip3)
  const prefixes = Array.from<StateCode | null>({ length: 1_000 }).fill(null)
  for (const code of servedStates) {
    for (const [first, last] of file.states[code]) prefixes.fill(code, Number(first), Number(last) + 1)
  }
  return { exceptions: new Map(Object.entries(file.exceptions)), prefixes }
})

/**
 * The state of a five- or nine-digit ZIP code. Null if its prefix is not in use or belongs to no served state: for
 * example, to the military or to a territory such as Puerto Rico.
 */
export const stateOfZip = (zip: string): StateCode | null => {
  const { exceptions, prefixes } = zipTableOf(zip3File)
  return exceptions.get(zip.slice(0, 5)) ?? prefixes[Number(zip.slice(0, 3))] ?? null
}
