import { Context, Effect, Latch, Layer, type Scope } from "effect"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { Change, Hint } from "./Change.ts"
import type { Kinds } from "./Kind.ts"
import { Storage } from "./Storage.ts"

/*
 * Hints say that something has changed, so that code that waits need not poll often. This module distributes hints for
 * every storage, and lets jobs and calls wait for them. A hint is never a guarantee.
 */

/** The listeners of a storage: an implementation of `watch` for every storage. */
export class Hints {
  private readonly listeners = new Set<(hint: Hint) => void>()

  /** Calls the listener with every hint until the scope closes. */
  readonly watch = (listener: (hint: Hint) => void): Effect.Effect<void, never, Scope.Scope> =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          // Wrapped, so that a listener that is registered twice is called twice, and each registration is removed
          // separately.
          const own = (hint: Hint) => listener(hint)
          this.listeners.add(own)
          return own
        }),
        (own) => Effect.sync(() => this.listeners.delete(own))
      )
    )

  /** Calls all listeners. If a listener throws, logs that, because the change is already stored. */
  readonly notify = (hints: ReadonlyArray<Hint>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const thrown: Array<unknown> = []
      for (const hint of hints) {
        // A copy, because listeners may be added or removed in the meantime.
        for (const listener of [...this.listeners]) {
          try {
            listener(hint)
          } catch (error) {
            thrown.push(error)
          }
        }
      }
      return thrown.length === 0 ? Effect.void : Effect.logError("A storage listener failed", ...thrown)
    })
}

/** The hints that a change gives. */
export const hintsOf = (change: Change, kinds: Kinds): ReadonlyArray<Hint> => {
  const changed = new Set<string>()
  for (const { kind, id, parent } of change.writes) {
    const { wakes } = kinds.byName(kind)
    if (wakes === "itself") changed.add(id)
    if (wakes === "parent" && parent !== null) changed.add(parent)
  }
  const hints: Array<Hint> = [...changed].map((id) => ({ about: "record", id }))
  if (change.events.length > 0) hints.push({ about: "events", workspace_id: change.workspace_id })
  if (change.jobs.length > 0 || change.finishes.length > 0 || change.clock_offset_ms !== null) {
    hints.push({ about: "jobs", workspace_id: change.workspace_id })
  }
  return hints
}

/** A wake-up by hints. It is remembered until someone waits for it. */
export interface Signal {
  readonly wake: () => void
  /** Waits for the next wake-up, at most this many milliseconds. Returns whether there was one. */
  readonly next: (at_most_ms: number) => Effect.Effect<boolean>
}

/** Makes a signal that has not been woken yet. */
export const makeSignal = (): Signal => {
  const woken = Latch.makeUnsafe()
  return {
    wake: () => void woken.openUnsafe(),
    next: (atMostMs) =>
      Effect.map(Effect.timeoutOption(woken.await, atMostMs), (awaited) => {
        if (awaited._tag === "None") return false
        woken.closeUnsafe()
        return true
      })
  }
}

/** How many calls may wait in one process. Further calls are answered without waiting. */
export const maxWaiting = 20_000

/** Hints can be lost, so waiting calls look again at least this often. */
export const pollMs = 5_000

/**
 * Why a wait ended. `changed`: look again, because of a hint or because a hint may have been lost. `crowded`: the call
 * did not wait, because too many calls are waiting already.
 */
export type WakeReason = "changed" | "time_over" | "stopping" | "crowded"

/** What to wait for: a record, and its workspace, which may be erased as a whole. */
export interface PollSubject {
  readonly workspace_id: WorkspaceId
  readonly id: string
}

/** Waits for the next hint, at most this many milliseconds. A hint that came since the previous wait counts as well. */
export type WaitForHint = (at_most_ms: number) => Effect.Effect<WakeReason>

/** Lets calls wait until a record changes, without holding a resource of storage. */
export class LongPolls extends Context.Service<
  LongPolls,
  {
    /**
     * Runs a body that alternates between reading and waiting. Hints are collected from before the first read until the
     * body ends.
     */
    readonly listen: <A, E, R>(
      subject: PollSubject,
      body: (next: WaitForHint) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** Ends all current waits and all later ones immediately, because the process is about to stop. */
    readonly stop: Effect.Effect<void>
    /** How many calls are listening. */
    readonly count: Effect.Effect<number>
  }
>()("@quotewire/core/LongPolls") {
  static readonly layer: Layer.Layer<LongPolls, never, Storage> = Layer.effect(
    LongPolls,
    Effect.gen(function* () {
      const storage = yield* Storage
      // Keyed by record id and by workspace id. Their prefixes differ, so they cannot collide.
      const listeners = new Map<string, Set<Signal>>()
      let count = 0
      let stopping = false

      const wake = (id: string) => {
        for (const listener of listeners.get(id) ?? []) listener.wake()
      }
      const wakeAll = () => {
        const all = new Set([...listeners.values()].flatMap((group) => [...group]))
        for (const listener of all) listener.wake()
      }
      yield* storage.watch((hint) => {
        if (hint.about === "everything") wakeAll()
        if (hint.about === "workspace") wake(hint.workspace_id)
        if (hint.about === "record") wake(hint.id)
      })

      const join = ({ workspace_id, id }: PollSubject): Signal => {
        const listener = makeSignal()
        for (const name of [workspace_id, id]) listeners.set(name, (listeners.get(name) ?? new Set()).add(listener))
        count++
        return listener
      }
      const leave = ({ workspace_id, id }: PollSubject, listener: Signal): void => {
        for (const name of [workspace_id, id]) {
          const others = listeners.get(name)
          others?.delete(listener)
          if (others?.size === 0) listeners.delete(name)
        }
        count--
      }

      const listen = <A, E, R>(subject: PollSubject, body: (next: WaitForHint) => Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            // When the process is full, new callers do not wait, but those that are already waiting continue.
            const isCrowded = count >= maxWaiting
            return { isCrowded, listener: join(subject) }
          }),
          ({ isCrowded, listener }) =>
            body((atMostMs) =>
              Effect.suspend(() => {
                if (stopping) return Effect.succeed<WakeReason>("stopping")
                if (isCrowded) return Effect.succeed<WakeReason>("crowded")
                const looksAgain = atMostMs > pollMs
                return Effect.map(
                  listener.next(Math.min(atMostMs, pollMs)),
                  (woken): WakeReason => (stopping ? "stopping" : woken || looksAgain ? "changed" : "time_over")
                )
              })
            ),
          ({ listener }) => Effect.sync(() => leave(subject, listener))
        )

      return LongPolls.of({
        listen,
        stop: Effect.sync(() => {
          stopping = true
          wakeAll()
        }),
        count: Effect.sync(() => count)
      })
    })
  )
}
