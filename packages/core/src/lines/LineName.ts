import { Schema } from "effect"
import { dependsOnLines } from "./HostSchema.ts"
import type { StandardLineName } from "./standard.ts"

/** The name of an insurance line: a standard line, or a line that a host defines. */
export type LineName = StandardLineName | (string & {})

const notes = { description: "Insurance line" }

/**
 * The name of an insurance line. In stored data it is any name. In inputs and in the API's documents (OpenAPI, JSON
 * Schema) it is one of the host's lines.
 */
export const LineName: Schema.Codec<LineName> = dependsOnLines(Schema.String.annotate(notes), (lines) =>
  Schema.Literals([...lines.keys()]).annotate(notes)
)
