import { Effect, Predicate } from "effect"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"

/** The refusal of a folder. */
export const folderRefused = (message: string): DatabaseRefused => new DatabaseRefused({ reason: "folder", message })

const isReadOnly = (folder: string) => `${folder} cannot be written: check its permissions and its file system.`
const isFull = (folder: string) => `The disk of ${folder} is full: make room, and start again.`
const isFile = (folder: string) => `${folder} must be a folder, but it, or a part of its path, is a file.`

/** What errors of the file system mean, by their codes in Node and their numbers in Emscripten (WASI). */
const meanings: ReadonlyArray<readonly [ReadonlyArray<unknown>, (folder: string) => string]> = [
  [["EACCES", "EPERM", "EROFS", 2, 63, 69], isReadOnly],
  [["ENOSPC", "EDQUOT", 51, 19], isFull],
  [["ENOTDIR", "EEXIST", 54, 20], isFile]
]

/** PostgreSQL's messages for the same errors. */
const reports: ReadonlyArray<readonly [RegExp, (folder: string) => string]> = [
  [/No space left on device|Disk quota exceeded/i, isFull],
  [/Permission denied|Read-only file system/i, isReadOnly]
]

/**
 * Says why a folder cannot be used, given an error of the file system or PostgreSQL's report; null if neither of them
 * says why.
 */
export const faultOf = (folder: string, error: unknown, report = ""): string | null => {
  const codes = [
    Predicate.hasProperty(error, "code") ? error.code : null,
    Predicate.hasProperty(error, "errno") ? error.errno : null
  ]
  const [, meaning] =
    meanings.find(([found]) => codes.some((code) => found.includes(code))) ??
    reports.find(([pattern]) => pattern.test(report)) ??
    []
  return meaning?.(folder) ?? null
}

/** Runs a step on the file system. If it throws, says what is wrong with the folder. */
export const attempt = <A>(folder: string, step: () => A): Effect.Effect<A, DatabaseRefused> =>
  Effect.try({
    try: step,
    catch: (error) => {
      const code = Predicate.hasProperty(error, "code") ? ` (${error.code})` : ""
      return folderRefused(faultOf(folder, error) ?? `${folder} cannot be used${code}.`)
    }
  })
