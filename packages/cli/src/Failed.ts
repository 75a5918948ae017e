import { Data } from "effect"

/** A command has failed for a reason that one sentence tells: exit code 1. */
export class Failed extends Data.TaggedError("Failed")<{ readonly message: string }> {}
