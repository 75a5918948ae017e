import { Effect, RcMap, type Scope, Semaphore } from "effect"

/**
 * Runs steps with the same name one after another, first come first served. Steps with other names run concurrently.
 */
export type KeyedMutex<Name> = <A, E, R>(name: Name, step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Makes the mutex of this process. Names that are not in use take no memory. */
export const makeKeyedMutex = <Name>(): Effect.Effect<KeyedMutex<Name>, never, Scope.Scope> =>
  Effect.map(
    RcMap.make({ lookup: (_: Name) => Semaphore.make(1) }),
    (semaphores): KeyedMutex<Name> =>
      (name, step) =>
        Effect.scoped(Effect.flatMap(RcMap.get(semaphores, name), (semaphore) => semaphore.withPermit(step)))
  )
