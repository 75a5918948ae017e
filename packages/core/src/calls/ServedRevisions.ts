import { Context } from "effect"
import { type Served, served } from "./Revision.ts"

/** The revisions that are served, newest first: those of this release, unless a program serves others. */
export const ServedRevisions = Context.Reference<Served>("@quotewire/core/ServedRevisions", {
  defaultValue: () => served
})
