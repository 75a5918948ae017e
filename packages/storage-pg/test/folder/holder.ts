import { Effect } from "effect"
import * as FolderLock from "../../src/folder/FolderLock.ts"

/*
 * A process that locks a folder, reports the result, and holds the lock until its input ends.
 */

const inputEnds = Effect.callback<void>((resume) => {
  process.stdin.on("end", () => resume(Effect.void)).resume()
})
const held = FolderLock.lock(process.argv[2] ?? "").pipe(
  Effect.andThen(Effect.sync(() => process.stdout.write("held\n"))),
  Effect.andThen(inputEnds),
  Effect.scoped,
  Effect.catchTag("DatabaseRefused", ({ message }) => Effect.sync(() => process.stdout.write(`${message}\n`)))
)
void Effect.runPromise(held)
