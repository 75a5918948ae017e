import { Context } from "effect"
import { type Served, served } from "./Revision.ts"

/** The revisions that are served, newest first; by default those of this release. */
export const ServedRevisions = Context.Reference<Served>("@quotewire/core/ServedRevisions", {
  defaultValue: () => served
})
