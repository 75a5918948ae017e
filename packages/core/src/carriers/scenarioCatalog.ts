import { Schema } from "effect"
import { Line } from "../quoting/Line.ts"
import scenariosFile from "./data/scenarios.json" with { type: "json" }

const Catalog = Schema.Struct({
  scenario_catalog_version: Schema.String,
  scenarios: Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.String, lines: Schema.Array(Line) }))
})

/** The named outcomes that the sandbox can play, each with the lines it is for. */
export const scenarioCatalog: typeof Catalog.Type = Schema.decodeUnknownSync(Catalog)(scenariosFile)
