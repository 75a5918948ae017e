import { Schema } from "effect"

/** The insurance lines, in the order in which they are listed (api.md, What the service does). */
export const lines = ["personal_auto", "renters", "pet"] as const

/** An insurance line. */
export const Line = Schema.Literals(lines).annotate({ description: "Insurance line" })
/** An insurance line. */
export type Line = typeof Line.Type
