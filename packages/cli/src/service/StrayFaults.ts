import { Fault } from "@quotewire/core/program"
import { Cause, Effect, Layer } from "effect"

/*
 * Unhandled errors in an embedder's code, such as a rejected promise that an adapter never awaited. Node would print
 * their messages, which may repeat facts, and end the process while other carriers are being asked.
 */

/**
 * Logs unhandled errors without their messages. After an unhandled rejection, the process continues. After an uncaught
 * exception, its state is unknown, so it ends with exit code 1.
 */
export const layer: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const log = Effect.runSyncWith(yield* Effect.context<never>())
    yield* listening("unhandledRejection", (thrown) => log(Fault.log("Unhandled promise rejection", Cause.die(thrown))))
    yield* listening("uncaughtException", (thrown) => {
      log(Fault.log("Uncaught error outside any call; exiting", Cause.die(thrown)))
      process.exit(1)
    })
  })
)

const listening = (event: "unhandledRejection" | "uncaughtException", listener: (thrown: unknown) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => process.on(event, listener)),
    () => Effect.sync(() => process.off(event, listener))
  )
