import { type ApiError, Ids, Json, type Operation, Pipeline, type Quotewire } from "@quotewire/core"
import { Cause, Effect, Exit, Option } from "effect"
import type * as Chance from "../chaos/Chance.ts"
import type { Host } from "./Hosts.ts"
import type { Ledger } from "./Ledger.ts"
import type { Machine, Process } from "./Machine.ts"

/*
 * The service as callers see it: they call one host after another until one responds, as the guides tell them to.
 */

/** How a caller makes a call. */
export interface CallOptions {
  readonly key: string
  readonly idempotency_key?: string
  readonly read_handle?: string
  /** The host to call first. */
  readonly first?: number
  /** How many responses are lost on the way. */
  readonly lost_answers?: number
}

/** What callers and operators can do. */
export interface Service {
  /** Calls an operation until it succeeds or is permanently refused. */
  readonly call: <Output, R extends Quotewire.Services>(
    operation: Operation.Operation<string, unknown, Output, R>,
    input: unknown,
    options: CallOptions
  ) => Effect.Effect<Output, ApiError.ApiError>
  /** Runs an effect in one host after another until one completes it. */
  readonly command: <A, E extends { readonly _tag: string }>(
    name: string,
    effect: Effect.Effect<A, E, Quotewire.Services>,
    options?: Pick<CallOptions, "first" | "lost_answers">
  ) => Effect.Effect<A, E>
}

/** How long a caller waits for a response. */
const patienceMs = 40_000
/** How long a caller waits before it retries. */
const pauseMs = 700

/** Whether the error is temporary, so that the same call may succeed later. */
const isPassing = (error: { readonly _tag: string; readonly retry_action?: string }): boolean =>
  error._tag === "service_unavailable" || error._tag === "StorageUnavailable" || error.retry_action === "wait"

/** Makes the service for a caller's process. */
export const make = (
  machine: Machine,
  caller: Process,
  hosts: ReadonlyArray<Host>,
  { chance, ledger }: { readonly chance: Chance.Chance; readonly ledger: Ledger }
): Service => {
  /** Sends an effect to a host, and waits for its exit. None if the host is down, dies, or takes too long. */
  const send = <A, E>(
    host: Host,
    effect: Effect.Effect<A, E, Quotewire.Services>
  ): Effect.Effect<Option.Option<Exit.Exit<A, E>>> =>
    Effect.callback<Exit.Exit<A, E> | null>((resume) => {
      const answer = (exit: Exit.Exit<A, E> | null) =>
        machine.later(1 + chance.below(3), caller, () => resume(Effect.succeed(exit)))
      machine.later(1 + chance.below(3), null, () => {
        if (!host.run(effect, answer)) answer(null)
      })
    }).pipe(Effect.timeoutOption(patienceMs), Effect.map(Option.flatMap((exit) => Option.fromNullOr(exit))))

  const command = Effect.fnUntraced(function* <A, E extends { readonly _tag: string }>(
    name: string,
    effect: Effect.Effect<A, E, Quotewire.Services>,
    { first = chance.below(hosts.length), lost_answers = 0 }: Pick<CallOptions, "first" | "lost_answers"> = {}
  ): Effect.fn.Return<A, E> {
    let lost = 0
    for (let turn = first; ; turn++) {
      const host = hosts[turn % hosts.length]
      const exit = host === undefined ? Option.none() : yield* send(host, effect)
      if (Option.isSome(exit) && lost++ >= lost_answers) {
        if (Exit.isSuccess(exit.value)) return exit.value.value
        // A host that stops interrupts what it cannot finish.
        const error = Option.getOrNull(Cause.findErrorOption(exit.value.cause))
        if (error === null && !Cause.hasInterrupts(exit.value.cause)) ledger.wrong.push(`${name} has died in its host`)
        if (error?._tag === "internal_error") ledger.wrong.push(`${name} returned internal_error`)
        if (error !== null && !isPassing(error)) return yield* Effect.fail(error)
      }
      yield* Effect.sleep(pauseMs)
    }
  })

  const call = <Output, R extends Quotewire.Services>(
    operation: Operation.Operation<string, unknown, Output, R>,
    input: unknown,
    options: CallOptions
  ): Effect.Effect<Output, ApiError.ApiError> => {
    const asked = Effect.gen(function* () {
      const ids = yield* Ids.Ids
      const reply = yield* Pipeline.call(operation, {
        request_id: ids.request(),
        credentials: {
          key: options.key,
          read_handle: options.read_handle ?? null,
          address: "192.0.2.1",
          keyless: false
        },
        revision: "current",
        idempotency_key: options.idempotency_key ?? null,
        input: Effect.succeed(input)
      })
      return Json.read(reply.json)
    })
    return command(operation.name, asked, options)
  }

  return { call, command }
}
