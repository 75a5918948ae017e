import { Effect, type Scope } from "effect"
import { Storage } from "../../storage/Storage.ts"

/** A rule of the contract, and the program that checks it on an empty storage. */
export interface Case {
  readonly name: string
  readonly run: Effect.Effect<void, unknown, Storage>
}

/** The methods of the storage that a case tests. */
export type StorageService = Storage["Service"]

/** Makes a case. What the case acquires is released when it ends. */
export const rule = (
  name: string,
  body: (storage: StorageService) => Effect.Effect<void, unknown, Scope.Scope>
): Case => ({
  name,
  run: Effect.gen(function* () {
    yield* body(yield* Storage)
  }).pipe(Effect.scoped)
})
