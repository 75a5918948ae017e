import { Schema } from "effect"
import type { VehicleFacts } from "../../lines/personal_auto/complete.ts"
import vehicleSegments from "./data/vehicle-segments.json" with { type: "json" }

/** The rating groups of vehicles. */
export const segments = ["economy", "standard", "truck_suv", "luxury", "performance", "electric"] as const
/** A rating group of vehicles. */
export type VehicleSegment = (typeof segments)[number]

const Segment = Schema.Literals(segments)
const table = Schema.decodeUnknownSync(
  Schema.Struct({
    default: Segment,
    entries: Schema.Array(Schema.Struct({ make: Schema.String, model: Schema.String, segment: Segment }))
  })
)(vehicleSegments)

/** Normalizes the spelling of a name. `F-150` and `f150` become the same, and so do `ID.4` and `id4`. */
const spelled = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[-.'’]/g, "")
    .replace(/[^a-z0-9]+/g, " ")
    .trim()

/** Normalizes the spelling of a make. `Mercedes-Benz` and `mercedes benz` become the same. */
const makeSpelled = (name: string): string => spelled(name).replaceAll(" ", "")

const restOfMake = "*"

/** The models of each make, longest names first, so that `F-150 Lightning` is found before `F-150`. */
const byMake = Map.groupBy(
  table.entries.toSorted((a, b) => b.model.length - a.model.length),
  (entry) => makeSpelled(entry.make)
)

/** The rating group of a make and model: the group of the longest listed name that begins the model's name. */
export const segmentOf = (make: string, model: string): VehicleSegment => {
  const name = `${spelled(model)} `
  const entry = byMake
    .get(makeSpelled(make))
    ?.find((candidate) => candidate.model === restOfMake || name.startsWith(`${spelled(candidate.model)} `))
  return entry?.segment ?? table.default
}

/** The rating group of a vehicle. If only its VIN is known, the vehicle is rated as `standard`. */
export const segmentOfVehicle = (vehicle: VehicleFacts): VehicleSegment =>
  vehicle.make === undefined || vehicle.model === undefined ? table.default : segmentOf(vehicle.make, vehicle.model)
