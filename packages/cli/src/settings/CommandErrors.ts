import { Data } from "effect"

/** A command failed. The message is one sentence that says why. The exit code is 1. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

/** The database became unavailable during a command that can be run again to resume where it stopped. */
export const interrupted = new CommandFailed({
  message: "The database became unavailable. Run the command again to resume."
})

/** Settings contradict each other, or the configuration cannot be used. The exit code is 2. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}
