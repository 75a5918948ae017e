import { Effect, RcMap, type Scope, Semaphore } from "effect"

/** Runs steps with the same name one after another, first come first served. Steps with other names run concurrently. */
export type InTurn<Name> = <A, E, R>(name: Name, step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Makes turns for this process. Names that are not in use take no memory. */
export const makeTurns = <Name>(): Effect.Effect<InTurn<Name>, never, Scope.Scope> =>
  Effect.map(
    RcMap.make({ lookup: (_: Name) => Semaphore.make(1) }),
    (turns): InTurn<Name> =>
      (name, step) =>
        Effect.scoped(Effect.flatMap(RcMap.get(turns, name), (turn) => turn.withPermit(step)))
  )
