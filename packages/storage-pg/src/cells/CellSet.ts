import { Storage } from "@quotewire/core"
import { type Array, Effect, Schedule, Scope } from "effect"
import * as CellHealth from "./CellHealth.ts"
import {
  type CellSource,
  type CellState,
  initial,
  noteHint,
  openChecked,
  unavailable,
  type WrongCell
} from "./CellState.ts"

type Port = Storage.Storage["Service"]

/** How often opening an unavailable cell is retried, in milliseconds. */
const openAgainMs = 1_000

/** A listener to the hints of all cells, including cells that are opened later. */
interface Watcher {
  readonly listener: Parameters<Port["watch"]>[0]
  readonly scope: Scope.Scope
}

/** The cells of a running program. */
export interface CellSet {
  /** The first cell's storage. */
  readonly home: Port
  readonly cells: ReadonlyArray<CellState>
  /** Finds a cell by its name; undefined if the cell is not in the settings. */
  readonly byName: (name: string) => CellState | undefined
  /** Calls a listener with the hints of all cells. */
  readonly watch: Port["watch"]
}

/** Returns a cell's storage. Fails if it is not open. */
export const storageOf = (cell: CellState | undefined): Effect.Effect<Port, Storage.StorageUnavailable> =>
  Effect.suspend(() => {
    if (cell === undefined) return Effect.fail(unavailable)
    if (cell.storage !== null) return Effect.succeed(cell.storage)
    return Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 2, cell: cell.name }))
  })

/**
 * Opens cells. The first cell must be usable. The others may be unavailable; opening them is retried until it succeeds,
 * and a log line says why it fails.
 */
export const open = <E>([homeSource, ...others]: Array.NonEmptyReadonlyArray<CellSource<E>>): Effect.Effect<
  CellSet,
  E | WrongCell | Storage.StorageUnavailable,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const watchers = new Set<Watcher>()
    const scope = yield* Effect.scope

    const guard = yield* CellHealth.make(homeSource.name)
    const home = yield* openChecked(homeSource, null)

    const adopt = Effect.fnUntraced(function* (cell: CellState, storage: Port) {
      yield* Scope.provide(
        storage.watch((hint) => noteHint(cell, hint)),
        scope
      )
      for (const watcher of watchers) yield* Scope.provide(storage.watch(watcher.listener), watcher.scope)
      cell.storage = guard(cell, storage)
      yield* CellHealth.measure(cell.name, true)
    })

    const openOther = Effect.fnUntraced(function* (source: CellSource<E>, cell: CellState) {
      const opening = Scope.provide(openChecked(source, { name: homeSource.name, storage: home }), scope)
      const later = Effect.retry(opening, Schedule.spaced(openAgainMs)).pipe(
        Effect.delay(openAgainMs),
        Effect.flatMap((storage) => adopt(cell, storage)),
        Effect.andThen(Effect.logInfo("A cell is now available")),
        Effect.annotateLogs({ cell: cell.name })
      )
      yield* Effect.matchEffect(opening, {
        onSuccess: (storage) => adopt(cell, storage),
        onFailure: (error) =>
          Effect.logWarning("Cannot open a cell, so its workspaces are unavailable; retrying", error).pipe(
            Effect.annotateLogs({ cell: cell.name }),
            Effect.andThen(CellHealth.measure(cell.name, false)),
            Effect.andThen(Effect.forkIn(later, scope))
          )
      })
    })

    const homeCell = initial(homeSource.name)
    yield* adopt(homeCell, home)
    const opened = others.map((source) => ({ source, cell: initial(source.name) }))
    yield* Effect.forEach(opened, ({ cell, source }) => openOther(source, cell), {
      concurrency: "unbounded",
      discard: true
    })

    const cells = [homeCell, ...opened.map(({ cell }) => cell)]
    const named = new Map(cells.map((cell) => [cell.name, cell]))
    const set: CellSet = {
      home,
      cells,
      byName: (name) => named.get(name),
      watch: (listener) =>
        Effect.gen(function* () {
          const watcher = { listener, scope: yield* Effect.scope }
          yield* Effect.acquireRelease(
            Effect.sync(() => watchers.add(watcher)),
            () => Effect.sync(() => watchers.delete(watcher))
          )
          for (const { storage } of cells) if (storage !== null) yield* storage.watch(listener)
        })
    }
    return set
  })
