import { Effect, type Scope } from "effect"
import { Storage } from "../../storage/Storage.ts"

/** One rule that every storage must keep, and the program that shows it. It needs an empty storage. */
export interface Case {
  readonly name: string
  readonly run: Effect.Effect<void, unknown, Storage>
}

/** A storage, as a case uses it. */
export type StorageService = Storage["Service"]

/** Makes a case; what it acquires is released at its end. */
export const rule = (
  name: string,
  body: (storage: StorageService) => Effect.Effect<void, unknown, Scope.Scope>
): Case => ({
  name,
  run: Effect.gen(function* () {
    yield* body(yield* Storage)
  }).pipe(Effect.scoped)
})
