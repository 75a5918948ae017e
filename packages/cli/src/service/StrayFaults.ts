import { Fault } from "@quotewire/core/program"
import { Cause, Effect, Layer } from "effect"

/*
 * Handles errors that an embedder's code does not handle, such as a rejected promise that a carrier adapter never
 * awaits. Node would print their messages, which may repeat facts about a person, and end the process while other
 * carriers are being asked.
 */

/**
 * Logs unhandled errors without their messages. After an unhandled rejection, the process continues. After an uncaught
 * exception, the process's state is unknown, so it ends with exit code 1.
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
