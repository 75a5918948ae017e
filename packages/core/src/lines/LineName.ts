import { Schema } from "effect"
import { dependsOnLines } from "./HostSchema.ts"
import type { StandardLineName } from "./standard.ts"

/** The name of an insurance line: a standard line, or one of a host's own. */
export type LineName = StandardLineName | (string & {})

const about = { description: "Insurance line" }

/** The name of an insurance line: any name in stored data, and one of the host's lines in inputs and documents. */
export const LineName: Schema.Codec<LineName> = dependsOnLines(Schema.String.annotate(about), (lines) =>
  Schema.Literals([...lines.keys()]).annotate(about)
)
