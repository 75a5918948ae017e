import { Clock, Effect, Exit, Option } from "effect"
import type { Environment } from "../../access/Caller.ts"
import * as Batcher from "../../storage/Batcher.ts"
import * as Change from "../../storage/Change.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage, StorageUnavailable } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import type { CarrierAdapter } from "../Carrier.ts"
import * as CarrierHealth from "./CarrierHealth.ts"
import * as CircuitSignals from "./CircuitSignals.ts"

/** Identifies a health record, and the carrier that it is about. */
export interface Subject {
  readonly workspace_id: WorkspaceId
  readonly id: string
  readonly carrier_id: string
  readonly line: string
  readonly environment: Environment
}

/**
 * What calls to a carrier are counted under.
 *
 * A carrier with connections counts each agency's calls separately: a connection belongs to an organization in one
 * environment, which is a workspace. Any other carrier counts all calls in an environment together.
 */
export const subjectOf = (
  { carrier: { id: carrier_id }, connection }: CarrierAdapter,
  { environment, line, workspace_id }: Pick<Subject, "environment" | "line" | "workspace_id">
): Subject =>
  connection === undefined
    ? { workspace_id: directoryWorkspace, id: `${carrier_id} ${line} ${environment}`, carrier_id, line, environment }
    : { workspace_id, id: `${carrier_id} ${line}`, carrier_id, line, environment }

/** How many steps share a change, and how many may be waiting. */
const maxBatch = 1_000
const maxWaiting = 10_000
/** The longest that a step waits for storage. */
const maxWaitMs = 10_000

/** A step, and the health that it changes. */
interface StepOf {
  readonly subject: Subject
  readonly step: CarrierHealth.Step
}

/**
 * Reads and writes the stored health of carriers. Whichever host changes a circuit logs and counts the change, once.
 */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const signals = CircuitSignals.make()

  const read = Effect.fnUntraced(function* (subject: Subject) {
    const stored = yield* storage.get({
      workspace_id: subject.workspace_id,
      kind: CarrierHealth.kind.name,
      id: subject.id
    })
    const health = Option.match(stored, { onNone: () => CarrierHealth.unknown, onSome: CarrierHealth.kind.value })
    yield* signals.seen(keyOf(subject), subject, health)
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
    yield* signals.seen(keyOf(subject), subject, health)
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

  const send: Batcher.Batcher<StepOf, CarrierHealth.AfterStep, StorageUnavailable> = yield* Batcher.make({
    // All have the same subject, because they share a queue.
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

  const apply = (subject: Subject, step: CarrierHealth.Step) =>
    Effect.tap(send({ subject, step }), ({ change }) =>
      change === null ? Effect.void : CircuitSignals.report(subject, change)
    )

  return { read, apply }
})

const keyOf = ({ id, workspace_id }: Subject): string => `${workspace_id} ${id}`
