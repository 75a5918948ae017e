import { it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Exit, Fiber, identity, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Access, KeylessWorkspace } from "../../src/access/Access.ts"
import { type Served, ServedRevisions } from "../../src/calls/Revision.ts"
import { smallest } from "../../src/lines/ExampleApplications.ts"
import type { StandardLineName } from "../../src/lines/standard.ts"
import * as operations from "../../src/operations.ts"
import type { Services } from "../../src/Quotewire.ts"
import { Runner } from "../../src/runner/Runner.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { type CallOptions, World, type WorldOptions } from "../../src/testing/World.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"
import { PublicUrl } from "../../src/wire/PublicUrl.ts"
import { toMillis } from "../../src/wire/Timestamp.ts"

/** The start time of each of these tests. */
export const beginning = toMillis("2026-11-20T12:00:00.000Z")

export { smallest }

export type InWorld<A> = Effect.Effect<A, unknown, World | Services | Storage | Scope.Scope>

interface TestWorldOptions extends WorldOptions {
  /** A wrapper around the service's storage. */
  readonly around?: (storage: Storage["Service"]) => Storage["Service"]
  /** Revisions to serve instead of those of this release. */
  readonly served?: Served
  readonly public_url?: Effect.Effect<string>
  /** Settings of the host, such as where requests to carriers go. */
  readonly surroundings?: Layer.Layer<never>
}

/** A world that uses the test clock from the beginning. */
export const world = ({
  around,
  public_url,
  served,
  surroundings = Layer.empty,
  ...options
}: TestWorldOptions = {}): Layer.Layer<World | Services | Storage> => {
  const storage =
    around === undefined
      ? MemoryStorage.layer
      : Layer.effect(Storage, Effect.map(Storage, around)).pipe(Layer.provide(MemoryStorage.layer))
  const whole = World.layer(storage, { cryptography: NodeCrypto.layer, ...options }).pipe(
    public_url === undefined ? identity : Layer.provide(Layer.succeed(PublicUrl, public_url)),
    Layer.provide(surroundings)
  )
  return served === undefined ? whole : Layer.provide(whole, Layer.succeed(ServedRevisions, served))
}

/** The options of a test's world, and what happens in it. */
export interface Scripted extends TestWorldOptions {
  readonly body: InWorld<unknown>
}

/**
 * A test in its own world, on the test clock. Its name is a rule of the specification.
 *
 * If the body uses what the options contain, such as scripted carriers, pass a function that makes both.
 */
export const testInWorld = (
  name: string,
  body: InWorld<unknown> | (() => Scripted),
  options: TestWorldOptions = {}
): void =>
  it.effect(name, () => {
    const made = typeof body === "function" ? body() : { ...options, body }
    return Effect.andThen(TestClock.setTime(beginning), Effect.provide(Effect.scoped(made.body), world(made)))
  })

/** The input of a start call, by default with a new request_key each time. */
export const startOf = (changes: { readonly line?: StandardLineName; readonly [field: string]: unknown } = {}) => {
  const line = changes.line ?? "renters"
  return {
    line,
    consent_receipt_id: "receipt-0001",
    request_key: `key-${++keys}`,
    application: smallest[line],
    ...changes
  }
}
let keys = 0
let keysElsewhere = 0

/** Starts a request with exactly this input. */
export const startWith = (input: unknown, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.startQuoteRequest, input, options))

/** Admits callers without a key to the world's sandbox. */
export const keyless = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(World, ({ organization }) =>
    Effect.provideService(body, KeylessWorkspace, {
      organization_id: organization.id,
      workspace_id: organization.workspaces.sandbox,
      environment: "sandbox"
    })
  )

/** The options of a call without a key. */
export const noKey: CallOptions = { key: null }

/** What a caller without a key sends: the person's agreement instead of a receipt. */
export const agreed = (changes: object = {}) => {
  const { consent_receipt_id: _, ...rest } = startOf({ request_key: "0b6d7f6e-3c1f-4f0e-9a53-0a8f0f6f2a11" })
  return { ...rest, quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true, ...changes }
}

/** In the live environment, in which carriers are not simulated. */
export const live = { environment: "live" } as const

/** Starts a request. */
export const start = (changes?: Parameters<typeof startOf>[0], options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.startQuoteRequest, startOf(changes), options))

/** Reads a request without waiting. */
export const read = (id: string, options?: CallOptions, input: object = { wait_seconds: 0 }) =>
  Effect.flatMap(World, ({ call }) => call(operations.getQuoteRequest, { id, ...input }, options))

export const list = (filters: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.listQuoteRequests, filters, options))

export const cancel = (id: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.cancelQuoteRequest, { id }, options))

export const getQuote = (id: string, version?: number, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) =>
    call(operations.getQuote, { id, ...(version !== undefined && { version }) }, options)
  )

export const advance = (seconds: number, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.advanceTime, { seconds }, options))

export const select = (scenario: string, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.selectScenario, { scenario }, options))

export const forceExpiry = (options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.forceExpiry, {}, options))

export const reset = (options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.resetSandbox, {}, options))

export const events = (input: object = {}, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.listEvents, input, options))

/** An event as a caller reads it. */
export type FeedItem = Effect.Success<ReturnType<typeof events>>["events"][number]

/** A quote as a caller reads it. */
export type ReadQuote = Effect.Success<ReturnType<typeof getQuote>>

/** The whole feed, page by page. */
export const feed = Effect.fnUntraced(function* (options?: CallOptions) {
  const all: Array<FeedItem> = []
  let cursor: string | undefined
  while (true) {
    const page = yield* events({ limit: 100, ...(cursor !== undefined && { cursor }) }, options)
    all.push(...page.events)
    if (page.events.length === 0) return all
    cursor = page.next_cursor
  }
})

/** Runs all work that is due now. */
export const runDue = Effect.flatMap(Runner, (runner) => runner.runDue())

/** Starts a runner in the background, until the end of the test; then time passes until it has stopped. */
export const work = Effect.gen(function* () {
  const runner = yield* Runner
  const scope = yield* Scope.make()
  yield* Scope.provide(runner.forever, scope)
  const stop = Effect.gen(function* () {
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* pass(10_000)
    yield* Fiber.join(closing)
  })
  yield* Effect.addFinalizer(() => stop)
  return stop
})

/** Lets real time pass, and everything happen that comes due. */
export const pass = (millis: number) =>
  Effect.andThen(TestClock.adjust(0), Effect.andThen(TestClock.adjust(millis), TestClock.adjust(0)))

/** The refusal of a call. */
export const refusal = <A, R>(call: Effect.Effect<A, ApiError, R>): Effect.Effect<ApiError, A, R> => Effect.flip(call)

/** The paths of a refusal's field errors. */
export const pathsOf = (error: ApiError): ReadonlyArray<string> => (error.field_errors ?? []).map(({ path }) => path)

/** Another organization in the same storage, with a server key in each environment. */
export const stranger = Effect.gen(function* () {
  const access = yield* Access
  const { id } = yield* access.createOrganization("A stranger")
  const keyOf = (environment: "sandbox" | "live") =>
    Effect.map(access.createKey({ organization_id: id, environment, kind: "server" }), ({ key }) => key)
  return { sandbox: yield* keyOf("sandbox"), live: yield* keyOf("live") }
})

/** The result of each carrier of a live request: its id, the outcome and the reason. */
export const outcomes = (id: string) =>
  Effect.map(read(id, live), ({ quote_request }) =>
    quote_request.carriers.map((result) => [result.carrier.id, result.outcome, result.reason].join(" ").trim())
  )

/** A second core on the same storage, like another host. Calls to it run there. */
export const anotherHost = Effect.fnUntraced(function* (options: WorldOptions = {}) {
  const storage = yield* Storage
  const { keys: worldKeys } = yield* World
  const services = yield* Layer.build(
    Layer.fresh(World.layer(Layer.succeed(Storage, storage), { cryptography: NodeCrypto.layer, ...options }))
  )
  return <A, E>(call: Effect.Effect<A, E, World | Services | Storage>) => {
    const there = Context.get(services, World)
    const asHere: World["Service"] = {
      ...there,
      call: (operation, input, callOptions = {}) =>
        there.call(operation, input, {
          key: worldKeys[callOptions.environment ?? "sandbox"].server,
          ...(operation.idempotent && { idempotency_key: `elsewhere-${++keysElsewhere}` }),
          ...callOptions
        })
    }
    return Effect.provide(call, Context.add(services, World, asHere))
  }
})
