import { Schema } from "effect"
import type { VehicleFacts } from "../../lines/personal_auto/assume.ts"
import vehicleSegments from "./data/vehicle-segments.json" with { type: "json" }

/** The groups in which vehicles are rated. */
export const segments = ["economy", "standard", "truck_suv", "luxury", "performance", "electric"] as const
/** A group in which vehicles are rated. */
export type VehicleSegment = (typeof segments)[number]

const Segment = Schema.Literals(segments)
const table = Schema.decodeUnknownSync(
  Schema.Struct({
    default: Segment,
    entries: Schema.Array(Schema.Struct({ make: Schema.String, model: Schema.String, segment: Segment }))
  })
)(vehicleSegments)

/** One spelling for the many of a name: `F-150` and `f150` are the same, and so are `ID.4` and `id4`. */
const spelled = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[-.'’]/g, "")
    .replace(/[^a-z0-9]+/g, " ")
    .trim()

/** A make in one spelling: `Mercedes-Benz` and `mercedes benz` are the same. */
const makeSpelled = (name: string): string => spelled(name).replaceAll(" ", "")

const rest_of_make = "*"

/** The longest name comes first, so that `F-150 Lightning` is found before `F-150`. */
const byMake = Map.groupBy(
  table.entries.toSorted((a, b) => b.model.length - a.model.length),
  (entry) => makeSpelled(entry.make)
)

/** The group of a make and model: the longest listed name that the model starts with. */
export const segmentOf = (make: string, model: string): VehicleSegment => {
  const name = `${spelled(model)} `
  const entry = byMake
    .get(makeSpelled(make))
    ?.find((known) => known.model === rest_of_make || name.startsWith(`${spelled(known.model)} `))
  return entry?.segment ?? table.default
}

/** The group of a vehicle; one that is known by its VIN only is rated as a standard one. */
export const segmentOfVehicle = (vehicle: VehicleFacts): VehicleSegment =>
  vehicle.make === undefined || vehicle.model === undefined ? table.default : segmentOf(vehicle.make, vehicle.model)
