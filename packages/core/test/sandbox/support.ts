import { Effect, Layer, Result, Schema } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import type { CarrierAdapter, CarrierAsk } from "../../src/carriers/Carrier.ts"
import { type Assumed, Assumptions } from "../../src/lines/Application.ts"
import zip3File from "../../src/lines/data/zip3.json" with { type: "json" }
import { assume as assumeAuto, type PersonalAutoFacts } from "../../src/lines/personal_auto/complete.ts"
import { PersonalAuto } from "../../src/lines/personal_auto/facts.ts"
import { assume as assumePet, type PetFacts } from "../../src/lines/pet/complete.ts"
import { Pet } from "../../src/lines/pet/facts.ts"
import { assume as assumeRenters, type RentersFacts } from "../../src/lines/renters/complete.ts"
import { Renters } from "../../src/lines/renters/facts.ts"
import type { StandardLineName } from "../../src/lines/standard.ts"
import { fictionalPlans } from "../../src/rating/fictionalPlans.ts"
import { fictionalCarriers } from "../../src/sandbox/fictionalCarriers.ts"
import { dayOf } from "../../src/wire/CalendarDay.ts"
import { secondMs, toMillis } from "../../src/wire/Timestamp.ts"
import { lineNamed } from "../lines/applications.ts"

/** The time of every quote request in these tests. */
export const requestedAt = toMillis("2026-11-20T12:00:00.000Z")
export const today = dayOf(requestedAt)

/** Facts as the engine has them: read, checked and completed. */
export const assumed = (name: StandardLineName, application: unknown): Assumed => {
  const line = lineNamed(name)
  const read = Result.getOrThrowWith(line.read(application, today), (refusal) => new Error(JSON.stringify(refusal)))
  const complete = line.complete(read.facts, today)
  if (complete === null) throw new Error("cannot be completed")
  return complete
}

export const autoFacts = (application: unknown): PersonalAutoFacts =>
  assumeAuto(Schema.decodeUnknownSync(PersonalAuto)(application), today, new Assumptions())
export const rentersFacts = (application: unknown): RentersFacts =>
  assumeRenters(Schema.decodeUnknownSync(Renters)(application), today, new Assumptions())
export const petFacts = (application: unknown): PetFacts =>
  assumePet(Schema.decodeUnknownSync(Pet)(application), today, new Assumptions())

const year = Number(today.slice(0, 4))
const monthsAgo = (months: number): string => {
  const index = 12 * year + Number(today.slice(5, 7)) - 1 - months
  return `${Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, "0")}`
}

/** Replaces `AGE:n` and `MONTHS_AGO:n` with dates relative to `today`. */
export const dated = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/AGE:(\d+)/g, (_, age) => `${year - Number(age)}-06-15`)
      .replaceAll(/MONTHS_AGO:(\d+)/g, (_, months) => monthsAgo(Number(months)))
  )

export const reference = {
  personal_auto: {
    garaging_address: { state: "TX", zip: "75201" },
    drivers: [
      { relationship: "self", date_of_birth: `${year - 35}-06-15`, license_status: "valid", years_licensed: 17 }
    ],
    vehicles: [{ model_year: 2019, make: "Honda", model: "Accord", annual_miles: 12_000, primary_use: "commute" }]
  },
  renters: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } },
  pet: {
    residence: { state: "TX", zip: "78701" },
    pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
  }
} as const

const firstZip3: { readonly [state: string]: ReadonlyArray<ReadonlyArray<string>> } = zip3File.states

/** The reference address of a state, whose territory factor is 1. */
export const zipOf = (state: string): string => {
  const [from = "000", to = from] = firstZip3[state]?.[0] ?? []
  for (let zip3 = Number(from); zip3 <= Number(to); zip3++) {
    if ((7 * zip3 + 3) % 5 === 2) return `${String(zip3).padStart(3, "0")}01`
  }
  return `${from}01`
}

/** An ask for an application, made one second after its start. */
export const askFor = (line: StandardLineName, application: unknown, parts: Partial<CarrierAsk> = {}): CarrierAsk => {
  const asked_at = parts.asked_at ?? requestedAt + secondMs
  const { facts, assumptions } = assumed(line, application)
  return {
    line,
    environment: "sandbox",
    facts,
    assumptions,
    credit_disclosed: false,
    idempotency_key: "3xk9w2m7q4t8v5c1z6",
    attempt: 1,
    scenario: null,
    requested_at: requestedAt,
    asked_at,
    now: asked_at,
    deadline: asked_at + 59 * secondMs,
    ...parts
  }
}

/** The states in which a fictional carrier offers a line. */
export const servedBy = (carrierId: string, line: StandardLineName): ReadonlyArray<string> =>
  fictionalPlans().find((plan) => plan.line === line && plan.carrier.id === carrierId)?.states ?? []

const MacLive = Mac.layerWebCrypto.pipe(Layer.provide(SecureRandom.layerWebCrypto))

/** The fictional carriers with real signatures. */
export const carriers: Effect.Effect<ReadonlyArray<CarrierAdapter>> = fictionalCarriers.pipe(Effect.provide(MacLive))

/** The carriers of a line, in the order in which they usually answer. */
export const carriersOf = (all: ReadonlyArray<CarrierAdapter>, line: string): ReadonlyArray<CarrierAdapter> =>
  all
    .filter((adapter) => adapter.lines[line] !== undefined)
    .toSorted((a, b) => (a.lines[line]?.typical_ms ?? 0) - (b.lines[line]?.typical_ms ?? 0))

export { monthsAgo }
