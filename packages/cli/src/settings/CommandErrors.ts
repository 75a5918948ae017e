import { Data } from "effect"

/** A command failed. One sentence says why. Exit code 1. */
export class CommandFailed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

/** Contradictory settings or an unusable configuration. Exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}
