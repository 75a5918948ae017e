import { Clock, Effect, Ref, Schema } from "effect"
import { changeOf, timeOf, type Workspace, Workspaces, withLaterTarget } from "../access/Workspaces.ts"
import { acceptOnce } from "../calls/acceptOnce.ts"
import { Runner } from "../runner/Runner.ts"
import type { Signal } from "../storage/Hints.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import type { Progress } from "./AdvanceProgress.ts"
import * as HeldClock from "./HeldClock.ts"
import { isHeld } from "./HeldClock.ts"

/** The clock position that an advance must reach. A reset cancels the advance. */
export const AdvanceTarget = Schema.Struct({ clock_target_ms: Schema.Int, reset_count: Schema.Int })
export type AdvanceTarget = typeof AdvanceTarget.Type

/** The record kind for advances, keyed by the number of seconds and the `Idempotency-Key` of their call. */
export const kind = Kind.make({
  name: "advance",
  schema: AdvanceTarget,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/**
 * Makes the functions that move the clock: `runAhead` runs the jobs that come due on the way, and `moveTo` only moves
 * the clock.
 */
const makeMoves = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const runner = yield* Runner
  const holdOf = yield* HeldClock.make

  /** Runs the next jobs on the way to the target. Every change that they commit also moves the clock. */
  const runAhead = (workspaceRead: Workspace, target: AdvanceTarget) => {
    let workspace = workspaceRead
    let held = false
    const aheadRun = runner.runAhead(
      workspaceRead,
      target.clock_target_ms - workspaceRead.clock_offset_ms,
      Effect.map(holdOf(workspaceRead.id), (hold) => {
        held = isHeld(hold)
        return hold.reach
      }),
      Effect.fnUntraced(function* (batch) {
        const moved = movedTo(workspace, target, batch.none_due_before, yield* Clock.currentTimeMillis)
        const { writes, clock_offset_ms } = changeOf(moved)
        yield* storage.commit({ ...batch, writes: [...batch.writes, ...writes], clock_offset_ms })
        workspace = moved
      })
    )
    return Effect.map(aheadRun, (ahead) => ({ ...ahead, held }))
  }

  /**
   * Moves the clock to `time`, but never beyond the target.
   *
   * The clock does not move if another process has moved it since `workspaceRead` was read. It also does not move if a
   * job that is due before the new time was stored in the meantime. The next step then starts from the current state.
   */
  const moveTo = Effect.fnUntraced(
    function* (workspaceRead: Workspace, target: AdvanceTarget, time: number) {
      const { workspace } = yield* workspaces.moment(workspaceRead.id)
      if (isEnded(workspace, target) || workspace.clock_offset_ms !== workspaceRead.clock_offset_ms) return
      const realNow = yield* Clock.currentTimeMillis
      const moved = movedTo(workspace, target, time, realNow)
      yield* commit(storage, { ...changeOf(moved), none_due_before: timeOf(moved, realNow) })
    },
    Effect.catchTag("VersionConflict", () => Effect.void)
  )

  return { runAhead, moveTo, holdOf }
})

/** An advance in progress in this process. */
export interface AdvanceRun {
  readonly workspace_id: WorkspaceId
  readonly target: AdvanceTarget
  readonly progress: Ref.Ref<Progress>
}

/** Makes the functions that move a sandbox's clock in steps. */
export const make = Effect.gen(function* () {
  const moves = yield* makeMoves
  return { accept: yield* makeAccept, step: yield* makeStep(moves), whileHeld: yield* makeWait(moves) }
})

type Moves = Effect.Success<typeof makeMoves>

/** Makes a function that accepts an advance by setting the clock's new target. */
const makeAccept = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  return (workspace_id: WorkspaceId, key: string | null, seconds: number) =>
    acceptOnce({ storage, workspaces }, kind, { workspace_id, id: `${seconds} ${key}` }, ({ workspace, now }) => {
      const advanced = withLaterTarget(workspace, seconds, now - workspace.clock_offset_ms)
      const { clock_target_ms, reset_count } = advanced
      // Date the record at the target. Otherwise the record of a one-year advance would be a year old as soon as the
      // advance ends.
      const at = now + clock_target_ms - workspace.clock_offset_ms
      return Effect.succeed({ value: { clock_target_ms, reset_count }, workspace: advanced, at })
    })
})

/**
 * Makes a function that takes one step toward the target: it runs the next jobs ahead of the clock, and the clock moves
 * with them. If no job is left, the clock moves to the target, or as far as calls to carriers allow. If the next job
 * cannot run ahead of the clock, or another runner holds it, the step runs the jobs with the earliest due time. If no
 * job is due, the clock moves to the next due time or to the target.
 */
const makeStep = Effect.fnUntraced(function* ({ holdOf, moveTo, runAhead }: Moves) {
  const workspaces = yield* Workspaces
  const runner = yield* Runner
  return Effect.fnUntraced(function* ({ progress, target, workspace_id: id }: AdvanceRun, signal: Signal) {
    const { workspace: workspaceRead } = yield* workspaces.moment(id)
    const { clock_offset_ms } = workspaceRead
    yield* Ref.update(progress, (previous) => ({
      ...previous,
      clock_offset_ms,
      clock_target_ms: target.clock_target_ms,
      carriers: []
    }))
    if (isEnded(workspaceRead, target)) {
      yield* runner.runDue(id)
      return "reached"
    }
    const ahead = yield* runAhead(workspaceRead, target)
    yield* Ref.update(progress, addJobs(ahead.jobs))
    if (ahead.jobs > 0) return "advancing"
    if (ahead.held) return "held"
    if (ahead.isClear) {
      yield* moveTo(workspaceRead, target, ahead.reach)
      return "advancing"
    }
    // While jobs keep coming due, the next step may run many of them ahead of the clock. So do not wait until no job is
    // due.
    const { isLast, jobs, next_due_at } = yield* runner.runNext(signal, id)
    yield* Ref.update(progress, addJobs(jobs))
    if (!isLast) return "advancing"
    const { reach } = yield* holdOf(id)
    yield* moveTo(
      workspaceRead,
      target,
      next_due_at === null ? reach : Math.min(reach, next_due_at + workspaceRead.clock_offset_ms)
    )
    return "advancing"
  })
})

/**
 * Makes a function that waits until no call to a carrier holds the clock. During the wait, real time passes, and jobs
 * that come due are run.
 *
 * If the process's clock stands still, as in tests, the sandbox's clock is moved by the length of each completed pause
 * instead.
 */
const makeWait = Effect.fnUntraced(function* ({ holdOf, moveTo }: Moves) {
  const workspaces = yield* Workspaces
  const runner = yield* Runner
  return Effect.fnUntraced(function* (
    { progress, target, workspace_id: id }: AdvanceRun,
    signal: Signal,
    onLook: Effect.Effect<void>
  ) {
    for (;;) {
      const hold = yield* holdOf(id)
      if (!isHeld(hold)) return
      yield* Ref.update(progress, (previous) => ({ ...previous, carriers: hold.carriers }))
      yield* onLook
      const { jobs, next_due_at } = yield* runner.runDue(id)
      yield* Ref.update(progress, addJobs(jobs))
      const { workspace: workspaceRead } = yield* workspaces.moment(id)
      if (isEnded(workspaceRead, target)) return
      const realNow = yield* Clock.currentTimeMillis
      const pauseMs = pauseOf(hold, next_due_at === null ? Number.POSITIVE_INFINITY : next_due_at - realNow)
      const isWoken = yield* signal.next(pauseMs)
      const isStandingStill = (yield* Clock.currentTimeMillis) === realNow
      if (!isWoken && isStandingStill && hold.first_due_at > hold.now)
        yield* moveTo(workspaceRead, target, hold.now + pauseMs)
    }
  })
})

const addJobs =
  (jobs: number) =>
  (previous: Progress): Progress => ({ ...previous, jobs: previous.jobs + jobs })

/** Whether an advance has ended: the clock has reached its target, or a reset has cancelled it. */
const isEnded = (workspace: Workspace, target: AdvanceTarget): boolean =>
  workspace.clock_offset_ms >= target.clock_target_ms || workspace.reset_count !== target.reset_count

/**
 * The next version of the workspace, with the clock moved to a job's due time, but never back and never beyond the
 * target.
 */
const movedTo = (workspace: Workspace, target: AdvanceTarget, dueAt: number, realNow: number): Workspace => {
  const reach = Math.max(workspace.clock_offset_ms, dueAt - realNow)
  return {
    ...workspace,
    version: workspace.version + 1,
    clock_offset_ms: Math.min(target.clock_target_ms, reach),
    clock_moved_at: realNow
  }
}

/** The longest wait before looking again at what holds the clock. Hints can be lost, so the wait is limited. */
const lookAgainMs = secondMs

/**
 * How long to wait before checking again what holds the clock, in milliseconds of real time. The wait ends when the
 * next call or ordered job is due.
 */
const pauseOf = ({ first_due_at, now }: HeldClock.Hold, orderedInMs: number): number => {
  const callInMs = first_due_at > now ? first_due_at - now : Number.POSITIVE_INFINITY
  return Math.max(1, Math.min(lookAgainMs, callInMs, orderedInMs))
}
