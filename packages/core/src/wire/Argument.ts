import { Data } from "effect"

/** A function was called with an argument that it cannot use. The message names what is wrong with it, and repeats no value. */
export class InvalidArgument extends Data.TaggedError("InvalidArgument")<{ readonly message: string }> {}
