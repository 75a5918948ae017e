import { ByteSize, Console, Effect, Stdio, Stream } from "effect"
import { CommandFailed } from "./CommandErrors.ts"

/** The maximum number of bytes that are read. */
const maxBytes = 256 * 1_024

/**
 * Reads standard input to its end. Used for values that must not be arguments, because other users can see arguments.
 *
 * At a terminal, prompts the user for the text. No message repeats what was read.
 */
export const read = Effect.fnUntraced(function* (whatToType: string) {
  const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
  if (yield* stdinIsTerminal) yield* Console.error(whatToType)
  const bytes = yield* stdin.pipe(
    Stream.mapError(() => unreadable("cannot be read")),
    Stream.limitBytes(ByteSize.bytes(maxBytes), () => Stream.fail(unreadable(`must have at most ${maxBytes} bytes`))),
    Stream.mkUint8Array
  )
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => unreadable("must be text in UTF-8")
  })
})

/** The error if standard input cannot be used. `problem` completes a sentence about it. */
export const unreadable = (problem: string) => new CommandFailed({ message: `Standard input ${problem}.` })
