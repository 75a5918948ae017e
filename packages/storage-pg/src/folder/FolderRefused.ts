import { Effect, Predicate } from "effect"
import { DatabaseRefused } from "../connection/DatabaseRefused.ts"

/** Creates the error for a folder that cannot be used. */
export const folderRefused = (message: string): DatabaseRefused => new DatabaseRefused({ reason: "folder", message })

const isReadOnly = (folder: string) => `${folder} cannot be written to: check its permissions and its file system.`
const isFull = (folder: string) => `The disk of ${folder} is full: make room, and start again.`
const isFile = (folder: string) => `${folder} must be a folder, but it, or a part of its path, is a file.`

/** Explanations for file system errors, by their codes in Node and their numbers in Emscripten (WASI). */
const meanings: ReadonlyArray<readonly [ReadonlyArray<unknown>, (folder: string) => string]> = [
  [["EACCES", "EPERM", "EROFS", 2, 63, 69], isReadOnly],
  [["ENOSPC", "EDQUOT", 51, 19], isFull],
  [["ENOTDIR", "EEXIST", 54, 20], isFile]
]

/** Explanations for file system errors as PostgreSQL reports them. */
const reports: ReadonlyArray<readonly [RegExp, (folder: string) => string]> = [
  [/No space left on device|Disk quota exceeded/i, isFull],
  [/Permission denied|Read-only file system/i, isReadOnly]
]

/**
 * Explains why a folder cannot be used, from a file system error or PostgreSQL's report; null if neither gives the
 * reason.
 */
export const faultOf = (folder: string, error: unknown, report = ""): string | null => {
  const codes = [
    Predicate.hasProperty(error, "code") ? error.code : null,
    Predicate.hasProperty(error, "errno") ? error.errno : null
  ]
  const [, meaning] =
    meanings.find(([known]) => codes.some((code) => known.includes(code))) ??
    reports.find(([pattern]) => pattern.test(report)) ??
    []
  return meaning?.(folder) ?? null
}

/** Runs a function that uses the file system. If it throws, fails with what is wrong with the folder. */
export const attempt = <A>(folder: string, step: () => A): Effect.Effect<A, DatabaseRefused> =>
  Effect.try({
    try: step,
    catch: (error) => {
      const code = Predicate.hasProperty(error, "code") ? ` (${error.code})` : ""
      return folderRefused(faultOf(folder, error) ?? `${folder} cannot be used${code}.`)
    }
  })
