import { Clock, Effect, Exit, Metric, Option } from "effect"
import type { Environment } from "../access/Caller.ts"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import * as Batcher from "../storage/Batcher.ts"
import * as Change from "../storage/Change.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { CarrierAsk, CarrierLine } from "./Carrier.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import type { Candidate } from "./Eligibility.ts"

/** A call to a carrier's adapter: about which ask, and for which workspace. */
export interface CallToCarrier {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly ask: CarrierAsk
}

/** Where calls to a carrier are counted: limits and circuits hold for each of its lines. */
export interface Place {
  readonly workspace_id: WorkspaceId
  readonly candidate: Candidate
  readonly line: string
  readonly environment: Environment
}

/** A call that was made, or for which the carrier's limits leave no room now. */
export type Limited<A> = { readonly _tag: "made"; readonly value: A } | NoRoom

/** When a call for which there was no room may be tried again. */
export interface NoRoom {
  readonly _tag: "no_room"
  readonly again_after_ms: number
}

/** What a result says about the carrier; null if nothing. */
export type Outcome = "answered" | "failed" | null

/**
 * Holds the calls of all hosts to a carrier within its limits of calls in a minute and at the same time, and keeps its
 * circuit.
 *
 * What is counted is one stored record for each line of a carrier; with connections, for each line of a connection. A call
 * writes it when it begins and when it has ended; calls of this host that do so at the same time share a change. Nothing waits
 * for room here: a call without room is not made.
 */
export interface CarrierLimits {
  /** Whether no ask may begin now, in real time, because the circuit is open. */
  readonly isOpen: (place: Place) => Effect.Effect<boolean, StorageUnavailable>
  /** Makes a call if there is room for it. With `outcomeOf` it is an ask, whose result counts for the circuit. */
  readonly ifRoom: <A, E>(
    of: CallToCarrier,
    call: Effect.Effect<A, E>,
    outcomeOf?: (value: A) => Outcome
  ) => Effect.Effect<Limited<A>, E | StorageUnavailable>
  /** Makes a call in any case, and counts it if storage can be reached. */
  readonly counted: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/**
 * How long a call waits while others fill a carrier's `max_concurrent`: a share of what an answer typically takes. Every
 * try loads the request again, so slow carriers are tried less often.
 */
const waitForRoom = (typical_ms: number): number => Math.min(2_000, Math.max(250, Math.round(typical_ms / 4)))
/** How many steps share a change, and how many may wait for theirs. */
const max_batch = 1_000
const max_waiting = 10_000
/** How long a step may wait for storage. */
const max_wait_ms = 10_000
/** How many open circuits are counted for the metric. */
const max_open = 10_000

/** The limits on a storage, which all its hosts share. */
export const make = Effect.gen(function* () {
  const { read, apply } = yield* makeSharedHealth

  const begin = (of: CallToCarrier, how: { readonly is_ask: boolean; readonly in_any_case: boolean }) =>
    apply({ subject: subjectOf(placeOf(of)), step: { type: "begin", limits: of.candidate.line, ...how } })

  /** If storage cannot be reached, the call counts as ended after a while. */
  const end = (of: CallToCarrier, permit: CarrierHealth.Permit | null, outcome: Outcome) =>
    permit === null
      ? Effect.void
      : Effect.ignore(apply({ subject: subjectOf(placeOf(of)), step: { type: "end", permit, outcome } }))

  const limits: CarrierLimits = {
    isOpen: (place) =>
      Effect.flatMap(read(subjectOf(place)), ({ health }) =>
        Effect.map(Clock.currentTimeMillis, (now) => CarrierHealth.isOpen(health, now))
      ),
    ifRoom: <A, E>(of: CallToCarrier, call: Effect.Effect<A, E>, outcomeOf?: (value: A) => Outcome) =>
      Effect.acquireUseRelease(
        begin(of, { is_ask: outcomeOf !== undefined, in_any_case: false }),
        ({ health, permit }): Effect.Effect<Limited<A>, E> =>
          permit === null ? noRoom(health, of.candidate.line) : Effect.map(call, (value) => ({ _tag: "made", value })),
        ({ permit }, exit) => {
          const isMade = Exit.isSuccess(exit) && exit.value._tag === "made"
          return end(of, permit, isMade ? (outcomeOf?.(exit.value.value) ?? null) : null)
        }
      ),
    counted: (of, call) =>
      Effect.acquireUseRelease(
        Effect.orElseSucceed(begin(of, { is_ask: false, in_any_case: true }), () => ({ permit: null })),
        () => call,
        ({ permit }) => end(of, permit, null)
      )
  }
  return limits
})

const noRoom = (health: CarrierHealth.CarrierHealth, line: CarrierLine): Effect.Effect<NoRoom> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    _tag: "no_room",
    again_after_ms: Math.max(waitForRoom(line.typical_ms), CarrierHealth.retryAfter(health, line, now))
  }))

/** Reads and writes the stored health of carriers. */
const makeSharedHealth = Effect.gen(function* () {
  const storage = yield* Storage
  const countOpen = openCircuits()

  const read = Effect.fnUntraced(function* (subject: Subject) {
    const stored = yield* storage.get({ ...subject, kind: CarrierHealth.kind.name })
    const health = Option.match(stored, { onNone: () => CarrierHealth.unknown, onSome: CarrierHealth.kind.value })
    yield* countOpen(subject, health)
    return { health, record: Option.getOrNull(stored) }
  })

  const write = Effect.fnUntraced(function* (
    subject: Subject,
    health: CarrierHealth.CarrierHealth,
    before: Change.StoredRecord | null,
    now: number
  ) {
    const version = (before?.version ?? 0) + 1
    const meta = { id: subject.id, version, created_at: before?.created_at ?? now, updated_at: now }
    const writes = [CarrierHealth.kind.record(health, meta)]
    yield* commit(storage, Change.make(subject.workspace_id, { writes }))
    yield* countOpen(subject, health)
  })

  /** Applies steps in order, in one change. */
  const applyAll = Effect.fnUntraced(function* (subject: Subject, steps: ReadonlyArray<CarrierHealth.Step>) {
    const { health: before, record } = yield* read(subject)
    const now = yield* Clock.currentTimeMillis
    const results: Array<CarrierHealth.AfterStep> = []
    let health = before
    for (const step of steps) {
      const result = CarrierHealth.apply(health, step, now)
      health = result.health
      results.push(result)
    }
    if (health !== before) yield* write(subject, health, record, now)
    return results.map((result) => Exit.succeed(result))
  })

  const apply: Batcher.Batcher<StepOf, CarrierHealth.AfterStep, StorageUnavailable> = yield* Batcher.make({
    // All have the same subject, because they share a queue.
    send: (batch: ReadonlyArray<StepOf>) => {
      const steps = batch.map(({ step }) => step)
      return batch[0] === undefined ? Effect.succeed([]) : retryOnConflict(applyAll(batch[0].subject, steps))
    },
    unavailable: new StorageUnavailable({ retry_after_seconds: 1 }),
    max_batch,
    max_waiting,
    max_wait_ms,
    queueOf: ({ subject }) => keyOf(subject)
  })

  return { read, apply }
})

/** Names the record of a health. */
interface Subject {
  readonly workspace_id: WorkspaceId
  readonly id: string
}

/** A step, and the health that it changes. */
interface StepOf {
  readonly subject: Subject
  readonly step: CarrierHealth.Step
}

const keyOf = ({ id, workspace_id }: Subject): string => `${workspace_id} ${id}`

const placeOf = ({ ask: { environment, line }, candidate, workspace_id }: CallToCarrier): Place => ({
  workspace_id,
  candidate,
  line,
  environment
})

/**
 * A carrier with connections counts each agency's calls for itself: a connection belongs to an organization in one
 * environment, which is a workspace. Any other carrier counts all calls in an environment.
 */
const subjectOf = ({ candidate: { adapter }, environment, line, workspace_id }: Place): Subject =>
  adapter.connection === undefined
    ? { workspace_id: directoryWorkspace, id: `${adapter.carrier.id} ${line} ${environment}` }
    : { workspace_id, id: `${adapter.carrier.id} ${line}` }

const open_circuits = Metric.gauge("quotewire_carrier_circuits_open", {
  description: "Circuits of carriers that are open, as this host sees them."
})

/** Keeps the number of open circuits as a metric, as far as this host has seen them. */
const openCircuits = () => {
  const open = new BoundedMap<string, true>(max_open)
  return (subject: Subject, { open_until }: CarrierHealth.CarrierHealth) =>
    Effect.suspend(() => {
      const key = keyOf(subject)
      if (open.has(key) === (open_until !== null)) return Effect.void
      if (open_until === null) open.delete(key)
      else open.set(key, true)
      return Metric.update(open_circuits, open.size)
    })
}
