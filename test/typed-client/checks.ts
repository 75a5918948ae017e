import type {
  Environment,
  ErrorCode,
  ErrorEnvelope,
  EventType,
  Line,
  PersonalAutoStart,
  PetStart,
  Quote,
  QuoteRequest,
  RentersStart,
  StartedQuoteRequest,
  StartInput,
  WebhookEvent
} from "./names.ts"

/*
 * What every generator's types allow. The compiler must refuse exactly the lines below "refused".
 */

const common = { request_key: "one", consent_receipt_id: "receipt-0001" }
const address = { state: "NY", zip: "10001" } as const
const driver = { relationship: "self", date_of_birth: "1990-05-01", license_status: "valid" } as const
const auto = { garaging_address: address, drivers: [driver] }
const pet = { species: "dog", breed: "beagle" } as const

export const right: ReadonlyArray<StartInput> = [
  { ...common, line: "renters", application: { dwelling: { address, type: "apartment" } } },
  {
    ...common,
    line: "personal_auto",
    application: { ...auto, vehicles: [{ vin: "1HGCM82633A004352", comprehensive_deductible_usd: null }] }
  },
  { ...common, line: "pet", application: { residence: address, pets: [pet] } }
]

export const wrong: ReadonlyArray<StartInput> = [
  // refused: a dwelling is not a fact of car insurance
  { ...common, line: "personal_auto", application: { dwelling: { address, type: "apartment" } } },
  // refused: no such line
  { ...common, line: "boat", application: { dwelling: { address, type: "apartment" } } },
  // refused: no such type of dwelling
  { ...common, line: "renters", application: { dwelling: { address, type: "castle" } } },
  // refused: a vehicle has no fact `wheels`
  { ...common, line: "personal_auto", application: { ...auto, vehicles: [{ vin: "1HGCM82633A004352", wheels: 4 }] } },
  // refused: no such species
  { ...common, line: "pet", application: { residence: address, pets: [{ ...pet, species: "cow" }] } },
  // refused: the type of the dwelling is required
  { ...common, line: "renters", application: { dwelling: { address } } }
]

/** The line of a start call says which facts it has. */
export const subjects = (start: StartInput): number => {
  switch (start.line) {
    case "personal_auto":
      return start.application.vehicles.length
    case "pet":
      return start.application.pets.length
    case "renters":
      // refused: renters insurance has no pets
      return start.application.pets.length
  }
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Statuses are closed: adding one requires a new revision. Lists that can grow accept any text. */
export const lists: readonly [
  Same<QuoteRequest["status"], "in_progress" | "action_required" | "completed" | "failed">,
  Same<Quote["status"], "active" | "inactive">,
  Same<Environment, "sandbox" | "live">,
  Same<PetStart["line"], "pet">,
  Same<Line, "personal_auto" | "renters" | "pet">,
  Same<QuoteRequest["line"], string>,
  Same<WebhookEvent["type"], string>,
  Same<WebhookEvent["resource"]["type"], string>,
  Same<ErrorEnvelope["error"]["code"], string>
] = [true, true, true, true, true, true, true, true, true]

/** The currently known names, for a reader who wants the compiler to catch typos. */
export const known = {
  code: "needs_information" satisfies ErrorCode,
  type: "quote.created" satisfies EventType,
  // refused: a typo
  slip: "quote.create" satisfies EventType
}

/** Whether anything in a type is `any` or `unknown`. */
type Loose<T> = unknown extends T
  ? true
  : T extends ReadonlyArray<infer Item>
    ? Loose<Item>
    : T extends object
      ? { [K in keyof T]-?: Loose<T[K]> }[keyof T]
      : false

export const loose: ReadonlyArray<
  Loose<
    | QuoteRequest
    | StartedQuoteRequest
    | Quote
    | WebhookEvent
    | ErrorEnvelope
    | PersonalAutoStart
    | RentersStart
    | PetStart
  >
> = [false]
// refused: nothing is `any` or `unknown`
export const looser: typeof loose = [true]
