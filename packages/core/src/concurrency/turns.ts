import { Effect, RcMap, type Scope, Semaphore } from "effect"

/** Runs steps of the same name one after another, first come first served; steps of other names run beside them. */
export type InTurn<Name> = <A, E, R>(name: Name, step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Turns within this process. A name that nobody uses takes no room. */
export const makeTurns = <Name>(): Effect.Effect<InTurn<Name>, never, Scope.Scope> =>
  Effect.map(
    RcMap.make({ lookup: (_: Name) => Semaphore.make(1) }),
    (turns): InTurn<Name> =>
      (name, step) =>
        Effect.scoped(Effect.flatMap(RcMap.get(turns, name), (turn) => turn.withPermit(step)))
  )
