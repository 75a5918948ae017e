import { Data } from "effect"

/** A command failed, and one sentence says why: exit code 1. */
export class CommandFailed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

/** Settings that contradict each other, or a configuration that cannot be used: exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}
