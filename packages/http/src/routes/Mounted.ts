import {
  ApiError,
  type Argument,
  type Embedded,
  Ids,
  PublicUrl,
  Quotewire,
  Revision,
  whenClosing
} from "@quotewire/core"
import { Cause, Effect, Layer, Predicate, Result, type Scope } from "effect"
import * as Answer from "../host/Answer.ts"
import { closingDown } from "../host/Answering.ts"
import type { CheckedOptions } from "./HandlerOptions.ts"
import type { Services } from "./ServiceApi.ts"

/** A handler function, and the effects that stop it. */
export interface Stoppable<Handle> {
  readonly handle: Handle
  readonly refuse: Effect.Effect<void>
  readonly idle: Effect.Effect<void>
  readonly interruptAll: Effect.Effect<void>
}

/** The part of an embedded service that a handler uses. */
export type Service = Pick<Embedded, "run"> & Partial<Pick<Embedded, "log">>

const isService = (value: unknown): value is Service =>
  Predicate.hasProperty(value, "run") && Predicate.isFunction(value.run)

/** Checks that a value is an embedded service. */
export const checkService = (value: unknown): Result.Result<null, ReadonlyArray<Argument.Mistake>> =>
  isService(value)
    ? Result.succeed(null)
    : Result.fail([{ path: "service", message: "Must be the service that embed returns." }])

/** The maximum number of requests that wait for a service to start. Requests beyond this number are refused. */
export const maxWaiting = 1_000

/**
 * Creates a handler inside an embedded service. Resolves to the handler's function when the service has started.
 *
 * From the moment the service is closed, new requests are refused, and running requests finish within the grace period.
 * If the service cannot start, the error is logged and the promise resolves to null. It never rejects.
 */
export const mount = async <Handle>(
  service: () => Service,
  options: Pick<CheckedOptions, "limits" | "grace_ms" | "keyless">,
  make: Effect.Effect<Stoppable<Handle>, never, Services | Scope.Scope>
): Promise<Handle | null> => {
  let log: Embedded["log"] = Effect.runPromise
  try {
    const quotewire = service()
    log = quotewire.log ?? log
    const { handle } = await quotewire.run(makeMounted(make, options))
    return handle
  } catch (error) {
    if (!isClosed(error)) await log(Effect.logError(cannotStart, Cause.die(error)))
    return null
  }
}

/** Whether the service was closed before it had started. That is not an error, but unavailable storage is. */
const isClosed = (error: unknown): boolean => error instanceof ApiError.ApiError && error.retry_action === "none"

const cannotStart = "The service could not start, so its handler refuses every request"

const makeMounted = Effect.fnUntraced(function* <Handle>(
  make: Effect.Effect<Stoppable<Handle>, never, Services | Scope.Scope>,
  { grace_ms, keyless, limits }: Pick<CheckedOptions, "limits" | "grace_ms" | "keyless">
) {
  const admitting =
    keyless === null ? make : Effect.provideContext(make, yield* Layer.build(Quotewire.admitKeyless(keyless)))
  const handler = yield* limits === null
    ? admitting
    : Effect.provideContext(admitting, yield* Layer.build(Quotewire.limited(limits)))
  yield* whenClosing(stop(handler, grace_ms))
  return handler
})

const stop = ({ idle, interruptAll, refuse }: Stoppable<unknown>, graceMs: number): Effect.Effect<void> =>
  refuse.pipe(Effect.andThen(Effect.timeoutOption(Effect.interruptible(idle), graceMs)), Effect.andThen(interruptAll))

/** Creates a function that makes the refusals of a handler whose service has not started. */
export const refusals = ({
  base_url,
  docs_url
}: Pick<CheckedOptions, "base_url" | "docs_url">): (() => Answer.Answer) => {
  const ids = Effect.runSync(Effect.provide(Ids.Ids, Quotewire.identifiers))
  const [{ date: revision }] = Revision.served
  const settings = { docs_url: docs_url ?? `${base_url ?? PublicUrl.defaultAddress}/docs`, revision }
  return () => {
    const requestId = ids.request()
    const answer = Answer.refusal(closingDown, requestId, settings)
    return { ...answer, headers: { "request-id": requestId, ...answer.headers } }
  }
}
