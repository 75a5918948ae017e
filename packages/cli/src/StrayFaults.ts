import { Fault } from "@quotewire/core/program"
import { Cause, Effect, Layer } from "effect"

/*
 * Faults of an embedder's code that nobody waits for, such as a promise that an adapter has started and forgotten. Node would
 * print their messages, which may repeat facts, and end the process although other carriers are being asked.
 */

/**
 * Logs stray faults, without their messages. A rejected promise is logged, and the process goes on. After an error that was
 * thrown outside of any call, nobody knows what state the process is in, so it ends with exit code 1.
 */
export const layer: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const log = Effect.runSyncWith(yield* Effect.context<never>())
    yield* listening("unhandledRejection", (thrown) =>
      log(Fault.log("A promise was rejected, and no code waited for it", Cause.die(thrown)))
    )
    yield* listening("uncaughtException", (thrown) => {
      log(Fault.log("An error was thrown outside of any call; the process ends", Cause.die(thrown)))
      process.exit(1)
    })
  })
)

const listening = (event: "unhandledRejection" | "uncaughtException", listener: (thrown: unknown) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => process.on(event, listener)),
    () => Effect.sync(() => process.off(event, listener))
  )
