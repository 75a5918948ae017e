import { Cause, Effect, identity, Layer, ManagedRuntime } from "effect"
import { withoutLimits } from "../access/limits/Allowance.ts"
import { SealedRows, type SealProgress } from "../access/sealing/SealedRows.ts"
import type * as Operation from "../calls/Operation.ts"
import * as Pipeline from "../calls/Pipeline.ts"
import type { AnyOperation, CallOptions } from "../client/Client.ts"
import { makeClient } from "../client/makeClient.ts"
import * as Fault from "../concurrency/Fault.ts"
import { Consumers } from "../consuming/Consumers.ts"
import { makePromiseConsume } from "../consuming/consumeWithPromises.ts"
import type { ParkedEventPlace } from "../consuming/ParkedEvent.ts"
import { carrierCallback } from "../hostApi.ts"
import type { Line } from "../lines/Line.ts"
import type { StandardLine } from "../lines/standard.ts"
import { operations } from "../operations.ts"
import type { Services } from "../Quotewire.ts"
import { Erasures } from "../quoting/erasing/Erasures.ts"
import { Timelines } from "../timeline/Timelines.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { administration } from "./administration.ts"
import * as checked from "./checkedArguments.ts"
import type { Embedded, EmbedOptions, GivenParkedEventPlace } from "./Embedded.ts"
import * as EmbedRules from "./EmbedRules.ts"
import * as Lifetime from "./Lifetime.ts"
import { makeOperators } from "./makeOperators.ts"
import * as ProgramLogger from "./ProgramLogger.ts"
import { serviceLayer } from "./serviceLayer.ts"
import { traced } from "./Telemetry.ts"

/**
 * Embeds the service in a program that does not use Effect.
 *
 * @example
 * const quotewire = embed({ storage: MemoryStorage.layer })
 * const { id } = await quotewire.createOrganization("Acme")
 * const { key } = await quotewire.createKey({ organization_id: id, environment: "sandbox", kind: "server" })
 * const { capabilities } = await quotewire.client(key).get_capabilities({ line: "renters" })
 */
export const embed = <OwnLine extends Line = StandardLine>(options: EmbedOptions<OwnLine>): Embedded<OwnLine> => {
  const refusal = EmbedRules.refusalOf(options)
  const runtime = ManagedRuntime.make(
    refusal === null ? serviceLayer(options) : Layer.effectContext(Effect.fail(refusal))
  )
  const {
    grace_ms = 8_000,
    limits,
    telemetry
  }: Pick<EmbedOptions, "grace_ms" | "limits" | "telemetry"> = refusal === null ? options : {}
  const wrapCall: typeof withoutLimits = limits === undefined ? withoutLimits : identity
  const { call: run, close, run: runScoped, sleep } = Lifetime.begin(runtime, grace_ms)
  const { consume, stopAll } = makePromiseConsume((name, handler, consumer) =>
    runScoped(Consumers.use((consumers) => consumers.consume(name, handler, { grace_ms, ...consumer })))
  )
  const ready = run(Effect.void)
  // A program that ignores `ready` still learns of a failed start when it makes its first call.
  ready.catch(() => {})
  const stop = () => close(stopAll)
  const callOf =
    (key: string) =>
    (name: AnyOperation["name"], input: unknown, { signal, ...call_options }: CallOptions) => {
      const call = callWith(operationOf(name), key, checked.snapshot(input), call_options)
      return run(traced(telemetry, name)(wrapCall(call)), signal)
    }
  return {
    ready,
    ...administration(run),
    operators: makeOperators(run, wrapCall),
    timeline: async (id, timelineOptions = {}) => {
      checked.timeline(timelineOptions)
      return run(Timelines.use((timelines) => timelines.read(id, timelineOptions)))
    },
    carrierCallback: async (carrierId, callback) => {
      const { body, headers } = checked.carrierCallback(callback)
      return run(carrierCallback(carrierId, { headers: { ...headers }, body: body.slice() }))
    },
    erase: (target, erasureOptions) => {
      const copied = [{ ...target }, { ...erasureOptions }] as const
      return run(Erasures.use((erasures) => erasures.erase(...copied)))
    },
    sealStatus: () => run(SealedRows.use(({ status }) => status)),
    rotateSealKeys: async (rotationOptions = {}) => {
      const { on_progress } = checked.rotateSealKeys(rotationOptions)
      const onProgress = (progress: SealProgress) =>
        Fault.callHook(
          () => on_progress?.(progress),
          (thrown) => Fault.logWithMessages("on_progress failed", Cause.die(thrown))
        )
      return run(SealedRows.use(({ rotate }) => rotate(onProgress)))
    },
    client: (key) => makeClient({ names, call: callOf(key), sleep, check: checked.clientOptions }),
    consume,
    listConsumers: () => run(Consumers.use((consumers) => consumers.list())),
    listParkedEvents: async (name, filter = {}) => {
      checked.listParkedEvents(filter)
      return run(Consumers.use((consumers) => consumers.listParked(name, filter)))
    },
    retryParkedEvent: async (name, target) =>
      run(onParked(checked.retryParkedEvent(target), (consumers, place) => consumers.retryParked(name, place))),
    dropParkedEvent: async (name, target) =>
      run(onParked(checked.dropParkedEvent(target), (consumers, place) => consumers.dropParked(name, place))),
    run: runScoped,
    log: (entry) => Effect.runPromise(Effect.provide(entry, ProgramLogger.layer(EmbedRules.loggerOf(options)))),
    close: stop,
    [Symbol.asyncDispose]: stop
  }
}

const onParked = <E>(
  { organization_id, environment, event_id }: GivenParkedEventPlace,
  call: (consumers: Consumers["Service"], place: ParkedEventPlace) => Effect.Effect<void, E>
) =>
  Effect.gen(function* () {
    const place = {
      organization_id: yield* checked.organizationId(organization_id),
      event_id: yield* checked.eventId(event_id)
    }
    yield* call(yield* Consumers, { ...place, environment })
  })

const names = operations.map(({ name }) => name)
const byName: ReadonlyMap<string, AnyOperation> = new Map(operations.map((operation) => [operation.name, operation]))

const operationOf = (name: AnyOperation["name"]): AnyOperation => {
  const operation = byName.get(name)
  if (operation === undefined) throw new Error(`No such operation: ${name}.`)
  return operation
}

const callWith = (
  operation: Operation.Operation<string, unknown, unknown, Services>,
  key: string,
  input: unknown,
  options: Omit<CallOptions, "signal">
) =>
  Ids.use((ids) => {
    const request_id = ids.request()
    return Pipeline.call(operation, {
      request_id,
      credentials: { key, read_handle: options.read_handle ?? null, address: "embedded", keyless: false },
      // The methods' types describe the newest revision, so every call uses it.
      revision: "current",
      idempotency_key: options.idempotency_key ?? (operation.idempotent ? request_id : null),
      input: Effect.succeed(input)
    }).pipe(
      Effect.mapBoth({
        onFailure: (error) => ApiError.withRequestId(error, request_id),
        onSuccess: ({ json }) => Json.decode(json)
      })
    )
  })
