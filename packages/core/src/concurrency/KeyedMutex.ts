import { Effect, RcMap, type Scope, Semaphore } from "effect"

/**
 * Runs steps with the same name one after another, in the order of the calls. Steps with different names run
 * concurrently.
 */
export type KeyedMutex<Name> = <A, E, R>(name: Name, step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Makes a mutex for this process. A name takes memory only while it is in use. */
export const makeKeyedMutex = <Name>(): Effect.Effect<KeyedMutex<Name>, never, Scope.Scope> =>
  Effect.map(
    RcMap.make({ lookup: (_: Name) => Semaphore.make(1) }),
    (semaphores): KeyedMutex<Name> =>
      (name, step) =>
        Effect.scoped(Effect.flatMap(RcMap.get(semaphores, name), (semaphore) => semaphore.withPermit(step)))
  )
