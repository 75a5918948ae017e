import { Data } from "effect"

/** A command has failed for a reason that one sentence tells: exit code 1. */
export class Failed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

/** Settings that are fine by themselves and do not go together: exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}
