import { PgConnection } from "@effect/sql-pg"
import { type Change, Job, Supervise } from "@quotewire/core"
import { Array as Arr, Effect, type Exit, Latch, Queue, RcMap, Redacted, Schema, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { inSchema } from "../connection/Address.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import * as Columns from "../rows/Columns.ts"
import { parseAnnouncement } from "./Announcer.ts"

const reconnectMs = 1_000
/**
 * How often a connection asks when the next jobs of its schemas are due, in milliseconds. This query (a "beat") also
 * checks that the server responds. If a hint is lost, or the server was replaced without closing the connection, a job
 * is delayed by at most this long.
 */
const beatEveryMs = 5_000
/** How long the server may take to respond to a beat before hints are assumed to be lost, in milliseconds. */
const doubtAfterMs = 1_000
/**
 * How many schemas one statement asks about, so that the response arrives in time even if the connection has no cached
 * plans.
 */
const maxAsked = 16
/** How long connecting, or the response to a beat, may take, in milliseconds. */
const answerMs = 5_000

/** A storage backend that wants the hints about its schema. */
export interface Subscriber {
  /** The ID of this storage's host. The host's own announcements are ignored. */
  readonly host: string
  /** The schema, which is also the name of the channel. */
  readonly schema: string
  /** Called with the hints from other hosts. */
  readonly notify: (hints: ReadonlyArray<Change.Hint>) => Effect.Effect<void>
  /** Called when announcements begin to arrive (true), and when they may be lost (false). */
  readonly listens: (isListening: boolean) => void
  /** Whether the storage claims jobs from all workspaces. Otherwise, the connection does not ask when jobs are due. */
  readonly works: () => boolean
  /** Called regularly with the next job's due time, in real time; null if no job is waiting. */
  readonly nextDue: (at: number | null) => void
}

/**
 * Passes the hints that arrive on to the storage until the scope closes. When this returns, it is already listening.
 *
 * Reconnects if the connection is lost. Announcements that are sent in the meantime are lost, so `notify` then receives
 * the hint `everything`.
 */
export type Listen = (
  connection: PgConnection.Config,
  subscriber: Subscriber
) => Effect.Effect<void, SqlError, Scope.Scope>

const nextDue = (place: number, schema: string): string =>
  inSchema(schema)(`select ${place} as place, next_due_at from quotewire.next_due_1($1::text[]) next_due_at`)
// The planner setting for `next_due_1`, which has none of its own (sql/0001_begin/settings.sql). A statement sets it,
// because poolers refuse unknown connection settings.
const planByIndex = "set enable_seqscan = off"
const kinds = Columns.texts(Schema.Array(Schema.String)).one(Job.jobKinds)
const dueRows = Columns.rowsReader(Schema.Struct({ place: Schema.Int, next_due_at: Schema.NullOr(Schema.Int) }))

/** A connection that listens for announcements. */
interface ListeningSession {
  readonly session: PgConnection.PgConnection
  /** Starts to pass on the announcements for a subscriber. The channel stays open until the connection closes. */
  readonly subscribe: (subscriber: Subscriber) => Effect.Effect<void, SqlError>
  /** Waits until the connection is lost. */
  readonly lost: Effect.Effect<void>
}

const open = Effect.fnUntraced(function* (
  config: PgConnection.Config
): Effect.fn.Return<ListeningSession, SqlError, Scope.Scope> {
  const connected = yield* Scope.make()
  const listening = yield* Scope.make()
  // Closes the connection before the listening stops, because a dead connection cannot be asked to stop listening.
  yield* Effect.addFinalizer((exit: Exit.Exit<unknown, unknown>) =>
    Effect.andThen(Scope.close(connected, exit), Scope.close(listening, exit))
  )
  const base = yield* Scope.provide(PgConnection.make(config), connected)
  const session = yield* Scope.provide(base.pin, listening)
  yield* session.query(planByIndex)
  const connectionLost = Latch.makeUnsafe()
  const subscribe = Effect.fnUntraced(function* (subscriber: Subscriber) {
    const notifications = yield* Scope.provide(session.listen(subscriber.schema), listening)
    const forward = Effect.flatMap(Queue.take(notifications), ({ payload }) =>
      subscriber.notify(parseAnnouncement(subscriber.host, payload))
    )
    const forwarding = Effect.ignore(Effect.forever(forward)).pipe(Effect.ensuring(connectionLost.open))
    yield* Effect.forkIn(forwarding, listening)
  })
  return { session, subscribe, lost: connectionLost.await }
})

/** Checks that the server responds. */
const checkResponse = ({ session }: ListeningSession) => Effect.timeout(session.query("select"), answerMs)

/**
 * Asks when the next job is due in each schema whose jobs this host claims. If there is no such schema, only checks
 * that the server responds.
 */
const askNextDue = Effect.fnUntraced(function* (listening: ListeningSession, subscribers: ReadonlyArray<Subscriber>) {
  const { session } = listening
  const working = subscribers.filter(({ works }) => works())
  if (working.length === 0) yield* checkResponse(listening)
  for (const chunk of Arr.chunksOf(working, maxAsked)) {
    const statement = chunk.map(({ schema }, place) => nextDue(place, schema)).join(" union all ")
    const { rows } = yield* Effect.timeout(session.query(statement, [kinds]), answerMs)
    for (const { place, next_due_at } of dueRows(rows)) {
      chunk[place]?.nextDue(next_due_at)
      chunk[place]?.listens(true)
    }
  }
  for (const subscriber of subscribers) if (!working.includes(subscriber)) subscriber.listens(true)
})

/** Sends beats (`askNextDue`) regularly until the server no longer responds. */
const beat = (listening: ListeningSession, subscribers: ReadonlySet<Subscriber>) => {
  const doubt = Effect.sync(() => {
    for (const subscriber of subscribers) subscriber.listens(false)
  })
  // The statement fails if one of the schemas has just moved away, so check whether the server still responds.
  const check = Effect.andThen(doubt, checkResponse(listening))
  const once = Effect.suspend(() =>
    subscribers.size === 0
      ? Effect.void
      : Effect.raceFirst(
          askNextDue(listening, [...subscribers]),
          Effect.andThen(Effect.delay(doubt, doubtAfterMs), Effect.never)
        )
  )
  return Effect.sleep(beatEveryMs).pipe(Effect.andThen(Effect.catchTag(once, "SqlError", () => check)), Effect.forever)
}

/** Listens on a connection to a database until the scope closes. Returns a function that adds a subscriber. */
const serve = Effect.fnUntraced(function* (
  config: PgConnection.Config
): Effect.fn.Return<Listen, SqlError, Scope.Scope> {
  const subscribers = new Set<Subscriber>()
  // Uses a separate scope. A lost connection is closed immediately; a live one is closed together with the outer scope.
  const first = yield* Scope.fork(yield* Effect.scope)
  let current: ListeningSession | null = yield* Scope.provide(open(config), first)

  const untilLost = (listening: ListeningSession) =>
    Effect.raceFirst(listening.lost, Effect.ignore(beat(listening, subscribers))).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          current = null
          for (const subscriber of subscribers) subscriber.listens(false)
        })
      )
    )
  const reopen = Effect.gen(function* () {
    const listening = yield* Effect.timeout(open(config), answerMs)
    // Iterates over the set itself, because a subscriber may be added during the loop.
    for (const subscriber of subscribers) yield* Effect.timeout(listening.subscribe(subscriber), answerMs)
    current = listening
    for (const subscriber of subscribers) {
      yield* subscriber.notify([{ about: "everything" }])
      subscriber.listens(true)
    }
    yield* untilLost(listening)
  })
  const again = reopen.pipe(Effect.scoped, Effect.ignore, Effect.andThen(Effect.sleep(reconnectMs)))
  const follow = Effect.onExit(untilLost(current), (exit) => Scope.close(first, exit)).pipe(
    Effect.ignoreCause({ log: "Error" })
  )
  yield* Effect.forkScoped(
    Effect.andThen(follow, Supervise.repeatForever("Listening to other hosts", again, reconnectMs))
  )

  return (_, subscriber) =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => subscribers.add(subscriber)),
        () =>
          Effect.sync(() => {
            subscribers.delete(subscriber)
            subscriber.listens(false)
          })
      )
      if (current === null) return
      yield* current.subscribe(subscriber)
      subscriber.listens(current !== null)
    })
})

/** Creates a key that is equal for connections that can listen for each other's schemas. */
const keyOf = ({ types: _, url, ...config }: PgConnection.Config): string =>
  JSON.stringify([url === undefined ? null : Redacted.value(url), config])

/** Creates a listener that uses one connection for each database, however many schemas the database has. */
export const make: Effect.Effect<Listen, never, Scope.Scope> = Effect.gen(function* () {
  const configs = new Map<string, PgConnection.Config>()
  const servers = yield* RcMap.make({
    lookup: (key: string) => inRealTime(serve(configs.get(key) ?? {}))
  })
  return (config, subscriber) => {
    const key = keyOf(config)
    configs.set(key, config)
    return Effect.flatMap(RcMap.get(servers, key), (listen) => listen(config, subscriber))
  }
})
