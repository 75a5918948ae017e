import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"

/** The pinned revision of a workspace: a date, even if that revision is no longer served (api.md, Versioning 3). */
export const Pin = Schema.Struct({ revision: Schema.String })
export type Pin = typeof Pin.Type

/** Pins in storage, one for each workspace, by its id. */
export const kind = Kind.make({ name: "pin", schema: Pin, survives_reset: true })
