import { Storage } from "@quotewire/core"
import { Clock, Context, Effect, Layer, Scope } from "effect"
import { RealClock } from "../../../packages/storage-pg/src/connection/inRealTime.ts"
import type { Rows } from "../../../packages/storage-pg/src/connection/Send.ts"
import { refused } from "../../../packages/storage-pg/src/connection/StatementRefused.ts"
import * as DatabaseClock from "../../../packages/storage-pg/src/database/DatabaseClock.ts"
import { parseAnnouncement } from "../../../packages/storage-pg/src/hints/Announcer.ts"
import { makeClaim } from "../../../packages/storage-pg/src/jobs/claim.ts"
import { type Means, storageOn } from "../../../packages/storage-pg/src/opening/storageOn.ts"
import * as Hearing from "../Hearing.ts"
import * as SimulatedStorage from "../SimulatedStorage.ts"
import { storedBy } from "./Commits.ts"
import type { Server } from "./Server.ts"

/*
 * The storage of PostgreSQL as a host of a story opens it: all of it runs in the host's process. Only its statements
 * leave the process. They travel to the single session of PGlite, and run there one after another.
 */

/** The longest wait for the response to a statement, the same as for real connections. */
const callMs = 10_000
const writers = 2

type Run = (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Rows, Storage.StorageUnavailable>

interface Ways {
  readonly run: Run
  readonly listen: Means["listen"]
  /** Checks the claims of the host. */
  readonly watching?: Hearing.Watch["watching"]
  /** Whether the host uses the database's clock instead of its own. */
  readonly uses_database_clock: boolean
  /** Called with the reason why a change was refused. */
  readonly refused?: (refusal: Refusal) => void
}

type Refusal = Parameters<typeof SimulatedStorage.noteRefusal>[2]

/** The PostgreSQL storage as one simulated host opens it. */
const layerOf = ({ listen, refused: note = () => {}, run, uses_database_clock, watching = (claim) => claim }: Ways) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const database = {
        schema: "quotewire",
        call_ms: callMs,
        read: run,
        write: run,
        atEachPlace: <E>(use: (connection: object) => Effect.Effect<void, E, Scope.Scope>) =>
          Scope.provide(use({}), scope)
      }
      const storage = yield* Effect.provideService(storageOn(database, { listen, writers }), RealClock, clock)
      const noting: typeof storage = {
        ...storage,
        claim: watching(storage.claim),
        commit: (change) => Effect.tapError(storage.commit(change), (refusal) => Effect.sync(() => note(refusal)))
      }
      const context = Context.make(Storage.Storage, noting)
      return uses_database_clock ? Context.add(context, Clock.Clock, yield* DatabaseClock.make(database)) : context
    }).pipe(Effect.catchTag("SqlError", Effect.die))
  )

const operations: Readonly<Record<string, SimulatedStorage.Operation>> = {
  commit: "commit",
  claim: "claim",
  claim_ordered: "claim",
  release: "release",
  erase_records: "erase",
  erase_children: "erase",
  erase_events: "erase",
  erase_workspace: "erase",
  tally: "addCounts"
}

/** What a statement does. Hosts delete expired counts without a function. */
const operationOf = (sql: string): SimulatedStorage.Operation =>
  operations[/^select \* from quotewire\.(\w+)_1\(/.exec(sql)?.[1] ?? ""] ??
  (sql.startsWith("delete ") ? "erase" : "other")

/** Opens the storage directly on the server, to create what exists before every story. */
export const direct = (server: Server, now: number): Layer.Layer<Storage.Storage, Storage.StorageUnavailable> =>
  layerOf({
    run: (sql, params) =>
      Effect.catchTag(server.run(now, sql, params), "SqlError", (error) => refused(error, "postgresql")),
    listen: () => Effect.void,
    uses_database_clock: false
  })

/** Opens the storage for one story: a server that hosts reach by statements. */
export const open =
  (server: Server): SimulatedStorage.Open =>
  (parts) => {
    const { chance, machine } = parts
    const uses_database_clock = chance.next() < 0.5
    const listeners = new Set<(payload: string) => void>()
    const ran: Run = (sql, params) =>
      Effect.suspend(() => server.run(machine.now(), sql, params)).pipe(
        Effect.tap((rows) =>
          Effect.sync(() => {
            for (const stored of storedBy(sql, params, rows)) SimulatedStorage.witness(parts, stored)
            for (const payload of server.takeNotifications()) for (const listener of listeners) listener(payload)
          })
        ),
        Effect.catchTag("SqlError", (error) => refused(error, "postgresql"))
      )
    return (process, host) => {
      const through = SimulatedStorage.wayOf(process, host, parts, { patience_ms: callMs })
      // A claim at time 0 takes no jobs.
      const nextDue = (run: Run) =>
        Effect.map(makeClaim({ write: run })({ now: 0, lease_ms: 1, limit: 1 }), ({ next_due_at }) => next_due_at)
      const statement: Run = (sql, params) => through(operationOf(sql), ran(sql, params))
      const { asked, watching } = Hearing.watch(parts, process, () => Effect.runSync(nextDue(ran)))
      const listen: Means["listen"] = (_connection, ear) =>
        Effect.andThen(
          Hearing.listen(
            parts,
            host,
            ear,
            nextDue((sql, params) => through("other", ran(sql, params)))
          ),
          Effect.acquireRelease(
            Effect.sync(() => {
              const listener = (payload: string) => {
                const hints = parseAnnouncement(ear.host, payload)
                if (hints.length === 0) return
                SimulatedStorage.passHint(process, host, parts, () => Effect.runSync(ear.notify(hints)))
              }
              listeners.add(listener)
              return listener
            }),
            (listener) => Effect.sync(() => listeners.delete(listener))
          )
        )
      return layerOf({
        run: (sql, params) => {
          if (sql.includes("claim_1(")) asked()
          return statement(sql, params)
        },
        watching,
        listen,
        uses_database_clock,
        refused: (refusal) => SimulatedStorage.noteRefusal(parts.ledger, process, refusal)
      })
    }
  }
