import { Effect, Predicate, type Scope } from "effect"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { faultOf, folderRefused } from "./FolderRefused.ts"
import type { Pglite } from "./PgliteSession.ts"

/*
 * Runs PostgreSQL in this process, with PGlite. PGlite is an optional package, so it is imported only here, and only
 * when it is needed.
 */

/** The version of PGlite that this program was tested with. */
const tested = "0.5.16"

const missingPackage = new DatabaseRefused({
  reason: "not_installed",
  message: `A database in a folder needs the package @electric-sql/pglite, which is not installed. Run npm install @electric-sql/pglite@${tested}`
})

const unloadable = new DatabaseRefused({
  reason: "not_installed",
  message: `The package @electric-sql/pglite cannot be loaded. Install the package again: npm install @electric-sql/pglite@${tested}`
})

const load = Effect.tryPromise({
  try: async () => (await import("@electric-sql/pglite")).PGlite,
  catch: (error) =>
    Predicate.hasProperty(error, "code") && error.code === "ERR_MODULE_NOT_FOUND" ? missingPackage : unloadable
})

/**
 * The server's settings. Its buffers are small, because they are in this process's memory. It plans each statement
 * once, as on other servers. These settings must not be written to the database's files, because they would persist.
 */
const settings = [
  "shared_buffers=16MB",
  "min_wal_size=32MB",
  "max_wal_size=64MB",
  "plan_cache_mode=force_generic_plan",
  "log_statement=none",
  "log_min_error_statement=panic"
].flatMap((setting) => ["-c", setting])

/** How many of the last lines of the server's log are kept. */
const maxLines = 20

const otherVersion = /initialized by PostgreSQL version (\S+), which is not compatible with this version (\d+)/

/** Explains why a database cannot be opened, from the server's report. */
const refusalOf = (folder: string, error: unknown, report: string): DatabaseRefused => {
  const fault = faultOf(folder, error, report)
  if (fault !== null) return folderRefused(fault)
  const [, createdVersion, ownVersion] = otherVersion.exec(report) ?? []
  if (createdVersion !== undefined) {
    return folderRefused(
      `The database in ${folder} was created by PostgreSQL ${createdVersion}, but the installed @electric-sql/pglite is PostgreSQL ${ownVersion}: install the version that created the database, or start over in another folder.`
    )
  }
  const problem = /(?:FATAL|PANIC): +(.{1,200})/.exec(report)?.[1] ?? "PGlite does not start"
  return folderRefused(
    `The database in ${folder} is damaged (${problem}): restore the folder from a backup, or remove the folder to start over.`
  )
}

/** A server in this process. */
export interface PgliteServer extends Pglite {
  /** Why the server can no longer run statements, and what to do; null while it can. */
  readonly failure: () => string | null
}

/**
 * Opens the database in `path`, a folder inside `folder`, until the scope closes. Creates an empty database if no
 * database exists.
 */
export const open = (folder: string, path: string): Effect.Effect<PgliteServer, DatabaseRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const PGlite = yield* load
    const lines: Array<string> = []
    let hasFailed = false
    const onStderr = (line: string): boolean => {
      lines.push(line)
      if (lines.length > maxLines) lines.shift()
      if (/\bPANIC: |^Aborted\(/.test(line)) hasFailed = true
      return false
    }
    const database = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => PGlite.create({ dataDir: path, startParams: [...PGlite.defaultStartParams, ...settings], onStderr }),
        catch: (error) => refusalOf(folder, error, lines.join("\n"))
      }),
      (server) => Effect.ignore(Effect.tryPromise(() => server.close()))
    )
    return {
      execProtocolRawStream: (message, options) => database.execProtocolRawStream(message, options),
      failure: () =>
        hasFailed
          ? (faultOf(folder, null, lines.join("\n")) ?? `The database in ${folder} failed: start this program again.`)
          : null
    }
  })
