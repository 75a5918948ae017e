/**
 * The order in which a round measures the contenders: every second round is in reverse, so no contender always comes
 * first.
 */
export const orderOf = <A>(contenders: ReadonlyArray<A>, round: number): ReadonlyArray<A> =>
  round % 2 === 0 ? contenders : contenders.toReversed()
