import type { Change, Storage } from "@quotewire/core"
import { Effect, type Scope } from "effect"
import type { Ledger } from "./Ledger.ts"
import type { Machine, Process } from "./Machine.ts"
import type { HintFault } from "./Story.ts"

/*
 * Hosts that ask storage for jobs only if they have heard that there may be some. The connection over which they hear
 * can be cut, and a check notices a host that does not ask although it should.
 */

/** What surrounds a host that hears. */
interface Surroundings {
  readonly ledger: Ledger
  readonly machine: Machine
  readonly weather: {
    /** Whether no host, storage or hint has failed lately. */
    readonly isCalm: () => boolean
    /** What happens to the hints for this host now. */
    readonly hints: (host: number) => HintFault | null
  }
}

/** What a host hears about due work. */
export interface Ear {
  readonly notify: (hints: ReadonlyArray<Change.Hint>) => Effect.Effect<void>
  readonly listens: (isListening: boolean) => void
  readonly nextDue: (at: number | null) => void
}

/** How often a host looks whether its connection is cut, and after how many looks it asks when the next job is due. */
const lookMs = 500
const looksPerBeat = 10
/** After how many milliseconds without a response a host no longer relies on hints. */
const doubtAfterMs = 1_000

/**
 * Begins to listen until the scope closes. Asks from time to time when the next job is due, because hints can be lost
 * without a sign.
 */
export const listen = Effect.fnUntraced(function* (
  { weather }: Surroundings,
  host: number,
  ear: Ear,
  askNextDue: Effect.Effect<number | null, Storage.StorageUnavailable>
): Effect.fn.Return<void, never, Scope.Scope> {
  let wasCut = false
  const doubt = Effect.sync(() => ear.listens(false))
  const beat = Effect.raceFirst(askNextDue, Effect.andThen(Effect.delay(doubt, doubtAfterMs), Effect.never)).pipe(
    Effect.flatMap((at) =>
      Effect.sync(() => {
        ear.nextDue(at)
        ear.listens(!wasCut)
      })
    ),
    Effect.catchTag("StorageUnavailable", () => doubt)
  )
  const look = Effect.suspend(() => {
    const isCut = weather.hints(host) === "cut"
    if (isCut === wasCut) return Effect.void
    wasCut = isCut
    if (isCut) return doubt
    return Effect.andThen(
      ear.notify([{ about: "everything" }]),
      Effect.sync(() => ear.listens(true))
    )
  })
  const looks = Effect.forEach(Array.from({ length: looksPerBeat }), () => Effect.andThen(Effect.sleep(lookMs), look), {
    discard: true
  })
  ear.listens(true)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        looks,
        Effect.suspend(() => (wasCut ? Effect.void : beat))
      )
    )
  )
})

/** How often, and how long, a host may not ask although a job is due, if nothing has failed lately and otherwise. */
const patience = { calm: { claims: 1, ms: 1_500 }, otherwise: { claims: 8, ms: 8_000 } }

/** Checks the claims of one host. */
export interface Watch {
  /** Notes that a claim over all workspaces has asked storage. */
  readonly asked: () => void
  /** Wraps the claim of the host. */
  readonly watching: (claim: Storage.Storage["Service"]["claim"]) => Storage.Storage["Service"]["claim"]
}

/** Notices claims that do not ask for too long while a job is due. `nextDue` returns when the next one is. */
export const watch = (
  { ledger, machine, weather }: Surroundings,
  process: Process,
  nextDue: () => number | null
): Watch => {
  let asks = 0
  let skips = 0
  let since = 0
  const judge = (now: number) => {
    const due = nextDue()
    if (due === null || due > Math.min(now, machine.now())) {
      skips = 0
      return
    }
    ledger.reached.add("claim: skipped, and a job is due")
    skips++
    if (skips === 1) since = machine.now()
    const { claims, ms } = weather.isCalm() ? patience.calm : patience.otherwise
    const lateMs = machine.now() - since
    if (skips <= claims || lateMs <= ms) return
    skips = Number.NEGATIVE_INFINITY
    ledger.wrong.push(`A job was due, and ${process.name} did not ask for it for ${lateMs} ms`)
  }
  return {
    asked: () => {
      asks++
      skips = 0
    },
    watching: (claim) => (query) =>
      Effect.suspend(() => {
        const before = asks
        return Effect.tap(claim(query), () =>
          Effect.sync(() => {
            if (query.workspace_id !== undefined || asks > before) return
            ledger.reached.add("claim: skipped")
            judge(query.now)
          })
        )
      })
  }
}
