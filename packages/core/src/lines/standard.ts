import { Schema } from "effect"
import { personalAuto } from "./personal_auto/line.ts"
import { pet } from "./pet/line.ts"
import { renters } from "./renters/line.ts"

/** The standard lines, in the order in which they are listed. Add a new line here. */
export const standardLines = [personalAuto, renters, pet] as const

/** The names of the standard lines. */
export const lineNames = standardLines.map(({ name }) => name)

/** The name of an insurance line. */
export const LineName = Schema.Literals(lineNames).annotate({ description: "Insurance line" })
/** The name of an insurance line. */
export type LineName = typeof LineName.Type
