import { Clock, Effect, Exit, Metric, Option } from "effect"
import type { Environment } from "../../access/Caller.ts"
import { BoundedMap } from "../../concurrency/BoundedMap.ts"
import * as Batcher from "../../storage/Batcher.ts"
import * as Change from "../../storage/Change.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage, StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { secondMs } from "../../wire/Timestamp.ts"
import type { CarrierAdapter, CarrierAsk, CarrierLine } from "../Carrier.ts"
import type { Candidate } from "../Eligibility.ts"
import * as ExchangeDraft from "../recorder/ExchangeDraft.ts"
import * as CarrierHealth from "./CarrierHealth.ts"

/** A call to a carrier's adapter, with the call's ask and workspace. */
export interface CallToCarrier {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly ask: CarrierAsk
}

/** The scope in which a call is counted: the carrier, its line, the environment and the workspace. */
export interface HealthPlace {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly line: string
  readonly environment: Environment
}

/** The result of a call that was made, or `NoRoom` if the carrier's limits leave no room for the call now. */
export type LimitedResult<A> = { readonly _tag: "made"; readonly value: A } | NoRoom

/** The result if the carrier's limits leave no room for a call, and how long to wait before a retry. */
export interface NoRoom {
  readonly _tag: "no_room"
  readonly again_after_ms: number
}

/** What a call's result says about the carrier's health; null if the result says nothing. */
export type Outcome = CarrierHealth.AskOutcome | null

/**
 * Keeps the calls of all hosts to a carrier within its per-minute and concurrency limits, and maintains its circuit.
 *
 * Each line of a carrier has one stored record with its counts. A carrier with connections has a record for each line
 * of each connection. A call updates the record when it begins and when it ends; simultaneous updates on this host are
 * combined into one change. If the limits leave no room for a call, the call is not made, and does not wait here.
 */
export interface CarrierLimits {
  /** The open circuit that currently blocks asks; null if no circuit blocks them. */
  readonly openCircuit: (place: HealthPlace) => Effect.Effect<CarrierHealth.OpenCircuit | null, StorageUnavailable>
  /**
   * Makes a call if the limits leave room for the call. With `outcomeOf`, the call is an ask, and its result affects
   * the circuit.
   */
  readonly ifRoom: <A, E>(
    of: CallToCarrier,
    call: Effect.Effect<A, E>,
    outcomeOf?: (value: A) => Outcome
  ) => Effect.Effect<LimitedResult<A>, E | StorageUnavailable>
  /** Makes a call even if it exceeds the limits. Counts the call if storage is reachable. */
  readonly counted: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/**
 * How long to wait before a retry when other calls use up a carrier's `max_concurrent`: a fraction of its typical
 * latency. Every retry loads the request again, so calls to slow carriers are retried less often.
 */
const waitForRoom = (typicalMs: number): number => Math.min(2_000, Math.max(250, Math.round(typicalMs / 4)))

/** Makes the limits that all hosts on a storage backend share. */
export const make = Effect.gen(function* () {
  const { read, apply } = yield* makeSharedHealth

  const begin = (call: CallToCarrier, options: { readonly is_ask: boolean; readonly ignores_limits: boolean }) =>
    apply(healthSubjectAt(placeOf(call)), { type: "begin", limits: call.candidate.line, ...options })

  /** Records that a call has ended. If storage is unavailable, the call is considered ended once its permit expires. */
  const end = (call: CallToCarrier, permit: CarrierHealth.Permit | null, outcome: Outcome) =>
    permit === null
      ? Effect.void
      : apply(healthSubjectAt(placeOf(call)), { type: "end", permit, outcome }).pipe(
          Effect.tap(({ change }) =>
            change === null ? Effect.void : ExchangeDraft.note((draft) => draft.changed(change))
          ),
          Effect.ignore
        )

  const limits: CarrierLimits = {
    openCircuit: (place) =>
      Effect.flatMap(read(healthSubjectAt(place)), ({ health }) =>
        Effect.map(Clock.currentTimeMillis, (now) => CarrierHealth.blockingCircuit(health, now))
      ),
    ifRoom: <A, E>(carrierCall: CallToCarrier, call: Effect.Effect<A, E>, outcomeOf?: (value: A) => Outcome) =>
      Effect.acquireUseRelease(
        begin(carrierCall, { is_ask: outcomeOf !== undefined, ignores_limits: false }),
        ({ health, permit }): Effect.Effect<LimitedResult<A>, E> =>
          permit === null
            ? noRoom(health, carrierCall.candidate.line)
            : Effect.map(call, (value) => ({ _tag: "made", value })),
        ({ permit }, exit) => {
          const isMade = Exit.isSuccess(exit) && exit.value._tag === "made"
          return end(carrierCall, permit, isMade ? (outcomeOf?.(exit.value.value) ?? null) : null)
        }
      ),
    counted: (carrierCall, call) =>
      Effect.acquireUseRelease(
        Effect.orElseSucceed(begin(carrierCall, { is_ask: false, ignores_limits: true }), () => ({ permit: null })),
        () => call,
        ({ permit }) => end(carrierCall, permit, null)
      )
  }
  return limits
})

const noRoom = (health: CarrierHealth.CarrierHealth, line: CarrierLine): Effect.Effect<NoRoom> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    _tag: "no_room",
    again_after_ms: Math.max(waitForRoom(line.typical_ms), CarrierHealth.retryAfter(health, line, now))
  }))

const placeOf = ({ ask: { environment, line }, candidate, workspace_id }: CallToCarrier): HealthPlace => ({
  workspace_id,
  candidate,
  line,
  environment
})

const healthSubjectAt = ({ candidate: { adapter }, environment, line, workspace_id }: HealthPlace): HealthSubject =>
  healthSubjectOf(adapter, { environment, line, workspace_id })

/** Identifies a health record, and the carrier that the record is about. */
export interface HealthSubject {
  readonly workspace_id: WorkspaceId
  readonly id: string
  readonly carrier_id: string
  readonly line: string
  readonly environment: Environment
}

/**
 * Identifies the record in which calls to a carrier are counted.
 *
 * A carrier with connections has one record for each workspace, because a connection belongs to an organization in one
 * environment. For any other carrier, all calls in an environment are counted together.
 */
export const healthSubjectOf = (
  { carrier: { id: carrier_id }, connection }: CarrierAdapter,
  { environment, line, workspace_id }: Pick<HealthSubject, "environment" | "line" | "workspace_id">
): HealthSubject =>
  connection === undefined
    ? { workspace_id: directoryWorkspace, id: `${carrier_id} ${line} ${environment}`, carrier_id, line, environment }
    : { workspace_id, id: `${carrier_id} ${line}`, carrier_id, line, environment }

/** The maximum number of steps in one change. */
const maxBatch = 1_000
/** The maximum number of steps that wait in one queue. */
const maxWaiting = 10_000
/** The longest that a step waits for storage. */
const maxWaitMs = 10_000

/** A step, and the record that it changes. */
interface StepOf {
  readonly subject: HealthSubject
  readonly step: CarrierHealth.HealthStep
}

/**
 * Reads and writes the stored health of carriers. The host that changes a circuit logs and counts the change, so this
 * happens once.
 */
export const makeSharedHealth = Effect.gen(function* () {
  const storage = yield* Storage
  const gauge = circuitGauge()

  const read = Effect.fnUntraced(function* (subject: HealthSubject) {
    const stored = yield* storage.get({
      workspace_id: subject.workspace_id,
      kind: CarrierHealth.kind.name,
      id: subject.id
    })
    const health = Option.match(stored, { onNone: () => CarrierHealth.unknown, onSome: CarrierHealth.kind.value })
    yield* gauge.seen(keyOf(subject), subject, health)
    return { health, record: Option.getOrNull(stored) }
  })

  const write = Effect.fnUntraced(function* (
    subject: HealthSubject,
    health: CarrierHealth.CarrierHealth,
    previous: Change.StoredRecord | null,
    now: number
  ) {
    const version = (previous?.version ?? 0) + 1
    const meta = { id: subject.id, version, created_at: previous?.created_at ?? now, updated_at: now }
    const writes = [CarrierHealth.kind.record(health, meta)]
    yield* commit(storage, Change.make(subject.workspace_id, { writes }))
    yield* gauge.seen(keyOf(subject), subject, health)
  })

  const applyAll = Effect.fnUntraced(function* (
    subject: HealthSubject,
    steps: ReadonlyArray<CarrierHealth.HealthStep>
  ) {
    const { health: healthBefore, record } = yield* read(subject)
    const now = yield* Clock.currentTimeMillis
    const results: Array<CarrierHealth.AfterStep> = []
    let health = healthBefore
    for (const step of steps) {
      const result = CarrierHealth.apply(health, step, now)
      health = result.health
      results.push(result)
    }
    if (health !== healthBefore) yield* write(subject, health, record, now)
    return results.map((result) => Exit.succeed(result))
  })

  const send: Batcher.Batcher<StepOf, CarrierHealth.AfterStep, StorageUnavailable> = yield* Batcher.make({
    // All steps in a batch have the same subject, because each subject has its own queue.
    send: (batch: ReadonlyArray<StepOf>) => {
      const steps = batch.map(({ step }) => step)
      return batch[0] === undefined ? Effect.succeed([]) : retryOnConflict(applyAll(batch[0].subject, steps))
    },
    unavailable: new StorageUnavailable({ retry_after_seconds: 1 }),
    max_batch: maxBatch,
    max_waiting: maxWaiting,
    max_wait_ms: maxWaitMs,
    queueOf: ({ subject }) => keyOf(subject)
  })

  const apply = (subject: HealthSubject, step: CarrierHealth.HealthStep) =>
    Effect.tap(send({ subject, step }), ({ change }) => (change === null ? Effect.void : report(subject, change)))

  return { read, apply }
})

const keyOf = ({ id, workspace_id }: HealthSubject): string => `${workspace_id} ${id}`

const openCircuits = Metric.gauge("quotewire_carrier_circuits_open", {
  description: "Circuits that are open, as this process sees them, by carrier, line and environment."
})

const changes = Metric.counter("quotewire_carrier_circuit_changes_total", {
  description: "Circuits that this process has opened, kept open or closed, by carrier, line, environment and change.",
  incremental: true
})

const labelsOf = ({ carrier_id: carrier, environment, line }: HealthSubject) => ({ carrier, line, environment })

const messages: { readonly [To in ExchangeDraft.CircuitChange["to"]]: string } = {
  opened: "A carrier's circuit opened; the carrier is not asked",
  stays_open: "A carrier's circuit stays open; the carrier is not asked",
  closed: "A carrier's circuit closed; the carrier is asked again"
}

/** Logs and counts a change to a circuit. */
const report = (subject: HealthSubject, change: ExchangeDraft.CircuitChange): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const seconds =
      change.until === null
        ? { was_open_seconds: secondsOf(now - change.since) }
        : { open_for_seconds: secondsOf(change.until - now) }
    const log = change.to === "closed" ? Effect.logInfo : Effect.logWarning
    const { carrier_id, environment, line } = subject
    yield* Effect.annotateLogs(log(messages[change.to]), {
      carrier_id,
      line,
      environment,
      why: change.why,
      ...seconds
    })
    yield* Metric.update(Metric.withAttributes(changes, { ...labelsOf(subject), change: change.to }), 1)
  })

const secondsOf = (ms: number): number => Math.round(ms / secondMs)

/** The maximum number of open circuits that the metric counts. */
const maxOpen = 10_000

/** Makes the metric of open circuits. The metric counts only circuits that this process has seen. */
const circuitGauge = () => {
  const open = new BoundedMap<string, HealthSubject>(maxOpen)
  const isOfSame = (a: HealthSubject, b: HealthSubject) =>
    a.carrier_id === b.carrier_id && a.line === b.line && a.environment === b.environment
  return {
    /** Updates the metric after the health under `key` was read or written. */
    seen: (key: string, subject: HealthSubject, health: CarrierHealth.CarrierHealth): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (open.has(key) === (health.open !== null)) return Effect.void
        if (health.open === null) open.delete(key)
        else open.set(key, subject)
        const count = Array.from(open.values()).filter((other) => isOfSame(subject, other)).length
        return Metric.update(Metric.withAttributes(openCircuits, labelsOf(subject)), count)
      })
  }
}
