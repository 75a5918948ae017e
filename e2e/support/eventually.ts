import { Effect } from "effect"

/** Waits for a condition that depends on sockets. */
export const eventually = (isTrue: () => boolean): Effect.Effect<void> =>
  Effect.sleep(5).pipe(Effect.repeat({ until: isTrue }), Effect.timeout(60_000), Effect.orDie, Effect.asVoid)
