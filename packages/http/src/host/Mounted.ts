import { ApiError, type Embedded, Ids, PublicUrl, Quotewire, Revision } from "@quotewire/core"
import { Cause, Effect, Layer, type Scope } from "effect"
import * as Answer from "./Answer.ts"
import { closingDown } from "./Answering.ts"
import type { Checked } from "./HandlerOptions.ts"
import type { Services } from "./ServiceApi.ts"

/** A handler that can stop. */
export interface Stoppable<Handle> {
  readonly handle: Handle
  readonly refuse: Effect.Effect<void>
  readonly idle: Effect.Effect<void>
  readonly interruptAll: Effect.Effect<void>
}

/** The part of an embedded service that a handler uses. */
export type Service = Pick<Embedded, "run">

/** At most this many requests wait for the start of a service. Further ones are refused. */
export const max_waiting = 1_000

/**
 * Makes a handler inside an embedded service, and resolves to its function when the service has started.
 *
 * When the service is closed, running requests finish within the grace period, and later ones are refused. If the service
 * cannot start, that is logged, and it resolves to null. It never rejects.
 */
export const mount = async <Handle>(
  service: () => Service,
  options: Pick<Checked, "limits" | "grace_ms">,
  make: Effect.Effect<Stoppable<Handle>, never, Services | Scope.Scope>
): Promise<Handle | null> => {
  try {
    const quotewire = service()
    const { handle } = await quotewire.run(makeMounted(make, options, handlersOf(quotewire)))
    return handle
  } catch (error) {
    if (!isClosed(error)) await Effect.runPromise(Effect.logError(cannot_start, Cause.die(error)))
    return null
  }
}

/** Whether the service was closed before it had started, which is no fault. A storage that is unavailable is one. */
const isClosed = (error: unknown): boolean => error instanceof ApiError.ApiError && error.retry_action === "none"

const cannot_start = "The service could not start, so its handler refuses every request"

const makeMounted = Effect.fnUntraced(function* <Handle>(
  make: Effect.Effect<Stoppable<Handle>, never, Services | Scope.Scope>,
  { grace_ms, limits }: Pick<Checked, "limits" | "grace_ms">,
  handlers: Set<Running>
) {
  const handler = yield* limits === null
    ? make
    : Effect.provideContext(make, yield* Layer.build(Quotewire.limited(limits)))
  const context = yield* Effect.context<Quotewire.Services>()
  handlers.add({ ...handler, grace_ms })
  yield* Effect.addFinalizer(() => Effect.provideContext(stopAll(handlers), context))
  return handler
})

/** A handler of a running service. */
interface Running extends Omit<Stoppable<unknown>, "handle"> {
  readonly grace_ms: number
}

/** The handlers of each service. They stop together, because finalizers would stop one after the other. */
const handlers_by_service = new WeakMap<Service, Set<Running>>()

const handlersOf = (quotewire: Service): Set<Running> => {
  const known = handlers_by_service.get(quotewire)
  if (known !== undefined) return known
  const handlers = new Set<Running>()
  handlers_by_service.set(quotewire, handlers)
  return handlers
}

const stopAll = Effect.fnUntraced(function* (handlers: Set<Running>) {
  const running = Array.from(handlers)
  handlers.clear()
  yield* Effect.forEach(running, ({ refuse }) => refuse)
  yield* Quotewire.releaseLongPolls
  yield* Effect.forEach(running, finish, { concurrency: "unbounded", discard: true })
})

const finish = ({ grace_ms, idle, interruptAll }: Running) =>
  Effect.andThen(Effect.timeoutOption(Effect.interruptible(idle), grace_ms), interruptAll)

/** Makes the refusals of a handler whose service has not started. */
export const refusals = ({ base_url, docs_url }: Pick<Checked, "base_url" | "docs_url">): (() => Answer.Answer) => {
  const ids = Effect.runSync(Effect.provide(Ids.Ids, Quotewire.identifiers))
  const [{ date: revision }] = Revision.served
  const settings = { docs_url: docs_url ?? `${base_url ?? PublicUrl.default_address}/docs`, revision }
  return () => {
    const request_id = ids.request()
    const answer = Answer.refusal(closingDown, request_id, settings)
    return { ...answer, headers: { "request-id": request_id, ...answer.headers } }
  }
}
