import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"

/** The revision that a workspace is pinned to: a date, whatever becomes of the revision (api.md, Versioning 3). */
export const Pin = Schema.Struct({ revision: Schema.String })
export type Pin = typeof Pin.Type

/** Pins in storage, one for a workspace and under its id. */
export const kind = Kind.make({ name: "pin", schema: Pin, survives_reset: true })
