import { Effect, type Scope } from "effect"
import { Storage } from "../../storage/Storage.ts"

/** The members of the storage port that a storage backend may lack. */
export type OptionalMember = "backlog" | "cells" | "moving" | "processes"

/** A rule of the contract, and the program that checks it on an empty storage. */
export interface Case {
  readonly name: string
  /** The optional member that the rule is about. Skip the case if the storage lacks it. */
  readonly needs?: OptionalMember
  readonly run: Effect.Effect<void, unknown, Storage>
}

/** The methods of the storage that a case tests. */
export type StorageService = Storage["Service"]

type Member<Name extends OptionalMember> = NonNullable<StorageService[Name]>

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

/** Makes a case for an optional member. The case dies if the storage lacks the member. */
export const optionalRule = <Name extends OptionalMember>(
  needs: Name,
  name: string,
  body: (member: Member<Name>, storage: StorageService) => Effect.Effect<void, unknown, Scope.Scope>
): Case => ({
  needs,
  ...rule(name, (storage) => {
    const member: StorageService[Name] = storage[needs]
    return member === undefined
      ? Effect.die(new Error(`The storage has no ${needs}, which is optional: skip the cases that need it`))
      : body(member, storage)
  })
})
