import { Data } from "effect"

/** A command failed, and one sentence says why: exit code 1. */
export class CommandFailed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

/** Settings that are valid but contradict each other: exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}
