import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect, Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { defaultSchema } from "../connection/Address.ts"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { inRealTime } from "../connection/inRealTime.ts"
import type { RunStatement } from "../connection/Session.ts"
import { refused, stateOf, unavailable } from "../connection/StatementRefused.ts"
import type { PlacedDatabase } from "../database/Database.ts"
import * as PlainSchema from "../migrations/PlainSchema.ts"
import { examineOn, migrateOn } from "../migrations/Schema.ts"
import * as FolderLock from "./FolderLock.ts"
import { attempt, folderRefused } from "./FolderRefused.ts"
import * as PgliteServer from "./PgliteServer.ts"
import * as PgliteSession from "./PgliteSession.ts"
import * as Tidying from "./Tidying.ts"

/*
 * A database in a folder, for one process. PostgreSQL itself runs in this process, with the same schema as on a server.
 */

/** The file mode of the folder: only the owner may use it. */
const privateMode = 0o700

/**
 * Matches the files that a folder without a database may contain: this program's files, hidden files, and files that
 * exist on new disks.
 */
const allowedName = /^(?:\.|database|lock\.|sandbox\.|lost\+found$)/

/** Creates the folder. Fails if the folder is used for something else. */
const prepare = Effect.fnUntraced(function* (folder: string) {
  const strangers = yield* attempt(folder, () => {
    mkdirSync(folder, { recursive: true, mode: privateMode })
    const isNew = !existsSync(join(folder, "database"))
    const foreignFiles = isNew ? readdirSync(folder).filter((name) => !allowedName.test(name)) : []
    if (foreignFiles.length === 0 && (statSync(folder).mode & 0o077) !== 0) chmodSync(folder, privateMode)
    return foreignFiles
  })
  if (strangers.length > 0) {
    yield* folderRefused(`${folder} has other files but no database: choose a new or empty folder.`)
  }
})

interface OpenedDatabase {
  readonly run: RunStatement
  readonly failure: PgliteServer.PgliteServer["failure"]
}

/** Opens the database and migrates it to the newest schema. */
const opened = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<OpenedDatabase, DatabaseRefused | SqlError, Scope.Scope> {
  const path = join(folder, "database")
  const unfinished = join(folder, "database.unfinished")
  // If a process died while it was creating the database, nothing was stored there, so start over.
  const isNew = yield* attempt(folder, () => {
    if (existsSync(unfinished)) rmSync(path, { recursive: true, force: true })
    if (existsSync(path)) return false
    writeFileSync(unfinished, "")
    return true
  })
  const server = yield* PgliteServer.open(folder, path)
  const { run } = PgliteSession.open(server)
  yield* migrateOn({ url: Redacted.make("postgres://localhost/postgres") }, run, PlainSchema.steps)
  yield* examineOn(run, PlainSchema.engineOf)
  if (isNew) yield* attempt(folder, () => rmSync(unfinished))
  return { run, failure: server.failure }
})

/**
 * The error code of a statement that ran out of disk space. It changed nothing, and other statements may still work.
 */
const diskFull = "53100"

/** Creates a function that logs why statements fail. It logs again only after a write has succeeded. */
const makeReport = () => {
  let reported: string | null = null
  return {
    failed: (reason: string) =>
      Effect.suspend(() => {
        if (reported === reason) return Effect.void
        reported = reason
        return Effect.logError(reason)
      }),
    wrote: Effect.sync(() => {
      reported = null
    })
  }
}

/** The longest time that a call may wait, in milliseconds. Usually the database responds immediately. */
const callMs = 10_000

/** Opens the database in a folder until the scope closes. In a new or empty folder, creates the database first. */
export const open = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<PlacedDatabase, DatabaseRefused, Scope.Scope> {
  const folder = resolve(path)
  yield* prepare(folder)
  yield* FolderLock.lock(folder)
  const { failure, onWrite, run } = yield* opened(folder).pipe(
    Effect.flatMap((server) => Effect.map(Tidying.make(server.run), (tidy) => ({ ...server, onWrite: tidy }))),
    Effect.catchTag("SqlError", (error) => Effect.fail(unusable(folder, error))),
    inRealTime
  )
  const report = makeReport()
  const ended = (reason: string) => Effect.andThen(report.failed(reason), Effect.fail(unavailable))
  const statement = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.suspend(() => {
      const reason = failure()
      if (reason !== null) return ended(reason)
      return run(sql, params).pipe(
        Effect.map(({ rows }) => rows),
        Effect.catchTag("SqlError", (error) => {
          const failureReason = failure()
          if (failureReason !== null) return ended(failureReason)
          const isFull = stateOf(error) === diskFull
          return Effect.andThen(isFull ? report.failed(noRoom(folder)) : Effect.void, refused(error, "postgresql"))
        })
      )
    })
  return {
    schema: defaultSchema,
    call_ms: callMs,
    read: statement,
    write: (sql, params) =>
      Effect.ensuring(
        Effect.tap(statement(sql, params), () => report.wrote),
        Effect.sync(onWrite)
      ),
    // There is nothing to listen for, because only this process uses the database.
    atEachPlace: () => Effect.void
  }
})

const noRoom = (folder: string) =>
  `The disk of ${folder} is full: calls that store something fail until there is room. Nothing that was stored is lost.`

const unusable = (folder: string, error: SqlError): DatabaseRefused =>
  folderRefused(
    `The database in ${folder} is unusable right now (${stateOf(error) ?? "no response"}): restart the program, and restore a backup if this continues.`
  )
