import { Effect } from "effect"

/** Waits for something that sockets bring about. */
export const eventually = (isTrue: () => boolean): Effect.Effect<void> =>
  Effect.sleep(5).pipe(Effect.repeat({ until: isTrue }), Effect.timeout(10_000), Effect.orDie, Effect.asVoid)
