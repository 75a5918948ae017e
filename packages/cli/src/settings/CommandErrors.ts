import { Data } from "effect"

/** A command failed. One sentence says why. Exit code 1. */
export class CommandFailed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

/** The database became unavailable during a command that resumes where it stopped. */
export const interrupted = new CommandFailed({
  message: "The database became unavailable. Run the command again to resume."
})

/** Contradictory settings or an unusable configuration. Exit code 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}
