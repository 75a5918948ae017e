import { randomUUID } from "node:crypto"
import { Effect, FileSystem } from "effect"

/**
 * Replaces a file that only its owner can read. The replacement is atomic: a concurrent reader, or the next process
 * after a crash, sees either the old or the new text.
 */
export const replace = Effect.fnUntraced(function* (path: string, text: string) {
  const files = yield* FileSystem.FileSystem
  const temporary = `${path}.${randomUUID()}`
  yield* Effect.gen(function* () {
    const file = yield* files.open(temporary, { flag: "wx", mode: 0o600 })
    yield* file.writeAll(new TextEncoder().encode(text))
    yield* file.sync
  }).pipe(
    Effect.scoped,
    Effect.andThen(files.rename(temporary, path)),
    Effect.onError(() => Effect.ignore(files.remove(temporary)))
  )
})
