import { linkSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { kill, pid } from "node:process"
import { Effect, Option, Predicate, Schema, type Scope } from "effect"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { attempt } from "./FolderRefused.ts"

/*
 * The lock of a folder. It consists of the files `lock.1`, `lock.2` and so on. Only the last file matters, and it names
 * the lock's owner.
 *
 * Nobody removes the last file. A process that finds that the owner has ended creates the next file, and only one
 * process can do that. So two processes that find the same outdated lock cannot both take it, as they could if they
 * removed it.
 */

/** The process that holds a lock. */
const Owner = Schema.Struct({
  pid: Schema.Int,
  host: Schema.String,
  /**
   * When the process started; null if that is unknown. Process IDs are reused, so a process is identified by its ID
   * together with this time.
   */
  started: Schema.NullOr(Schema.String)
})
type Owner = typeof Owner.Type

const Lock = Schema.fromJsonString(Schema.Struct({ owner: Owner }))
const decode = Schema.decodeUnknownOption(Lock)
const encode = Schema.encodeSync(Lock)

/**
 * How many times taking the lock is attempted. Races are rare and end quickly, so if more attempts are needed,
 * something else is wrong.
 */
const attempts = 10

/** Reads a file; null if it cannot be read. */
const textOf = (file: string): string | null => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return null
  }
}

/** Finds out when a process started, and whether it is still running; null on systems other than Linux. */
const processOf = (number: number): { readonly started: string; readonly isRunning: boolean } | null => {
  const boot = textOf("/proc/sys/kernel/random/boot_id")?.trim()
  // Splits after the last parenthesis, because the program's name, which is in parentheses, can contain spaces.
  const [state, ...fields] =
    textOf(`/proc/${number}/stat`)
      ?.replace(/^.*\) /s, "")
      .split(" ") ?? []
  const started = fields[18]
  return boot === undefined || started === undefined
    ? null
    : { started: `${boot} ${started}`, isRunning: state !== "Z" && state !== "X" }
}

/** Whether a process exists on this machine, even another user's process. */
const hasProcess = (number: number): boolean => {
  try {
    return kill(number, 0)
  } catch (error) {
    return !Predicate.hasProperty(error, "code") || error.code !== "ESRCH"
  }
}

/** Whether an owner may still be using the folder. If the owner is on another machine, that cannot be known. */
const mayRun = (owner: Owner): boolean => {
  if (owner.host !== hostname()) return true
  if (!hasProcess(owner.pid)) return false
  const ownerProcess = processOf(owner.pid)
  return (
    ownerProcess === null ||
    owner.started === null ||
    (ownerProcess.started === owner.started && ownerProcess.isRunning)
  )
}

const numbered = /^lock\.([1-9]\d{0,8})$/

/** The number of the last lock file; 0 if there is no lock file. */
const lastIn = (folder: string): number =>
  Math.max(0, ...readdirSync(folder).map((name) => Number(numbered.exec(name)?.[1] ?? 0)))

const fileOf = (folder: string, number: number) => join(folder, `lock.${number}`)

/** Reads the owner that a lock file names; null if the lock was released, because releasing it empties the file. */
const ownerIn = (folder: string, number: number): Owner | null =>
  Option.match(decode(textOf(fileOf(folder, number))), { onNone: () => null, onSome: ({ owner }) => owner })

const inUse = (folder: string, number: number, owner: Owner): DatabaseRefused => {
  const isHere = owner.host === hostname()
  const ownerText = isHere ? `the process ${owner.pid}` : `the process ${owner.pid} on the machine ${owner.host}`
  const todo = isHere
    ? "stop that process first, or use another folder"
    : `stop that process first; if the process has ended, remove ${fileOf(folder, number)}`
  return new DatabaseRefused({ reason: "in_use", message: `${folder} is in use by ${ownerText}: ${todo}.` })
}

/** Creates a file together with its content. Returns false if the name already exists. */
const createIfAbsent = (file: string, temporary: string): boolean => {
  try {
    linkSync(temporary, file)
    return true
  } catch (error) {
    if (Predicate.hasProperty(error, "code") && error.code === "EEXIST") return false
    throw error
  }
}

/** Takes the lock if its owner has ended. Returns the lock's number; null if another process was faster. */
const take = (folder: string, temporary: string): number | DatabaseRefused | null => {
  const last = lastIn(folder)
  const owner = ownerIn(folder, last)
  if (owner !== null && mayRun(owner)) return inUse(folder, last, owner)
  const number = last + 1
  if (!createIfAbsent(fileOf(folder, number), temporary)) return null
  // Since the search, other processes may have taken and released this lock number and the next one.
  if (lastIn(folder) !== number) {
    rmSync(fileOf(folder, number), { force: true })
    return null
  }
  for (let older = last; older > 0 && textOf(fileOf(folder, older)) !== null; older--) rmSync(fileOf(folder, older))
  return number
}

/** Writes a lock to a temporary file, which is then linked to the lock's name. */
const write = (folder: string, owner: Owner): string => {
  const file = join(folder, `lock.new.${hostname()}.${pid}`)
  // Removes a leftover file of an earlier process with the same ID, because it may be linked to a lock.
  rmSync(file, { force: true })
  writeFileSync(file, encode({ owner }), { mode: 0o600 })
  return file
}

const acquire = Effect.fnUntraced(function* (folder: string) {
  const me: Owner = { pid, host: hostname(), started: processOf(pid)?.started ?? null }
  const taken = yield* attempt(folder, () => {
    const temporary = write(folder, me)
    try {
      let takenLock: ReturnType<typeof take> = null
      for (let tries = 0; tries < attempts && takenLock === null; tries++) takenLock = take(folder, temporary)
      return takenLock
    } finally {
      rmSync(temporary, { force: true })
    }
  })
  if (typeof taken === "number") return taken
  return yield* taken ?? inUse(folder, lastIn(folder), ownerIn(folder, lastIn(folder)) ?? me)
})

/**
 * Empties the lock file. That works even if the disk is full. If the folder was removed in the meantime, there is
 * nothing to release.
 */
const release = (folder: string, number: number) =>
  Effect.ignore(attempt(folder, () => truncateSync(fileOf(folder, number))))

/**
 * Locks a folder until the scope closes. Fails with `in_use` if another process, or this process itself, holds the
 * lock.
 */
export const lock = (folder: string): Effect.Effect<void, DatabaseRefused, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(acquire(folder), (number) => release(folder, number)))
