import { readFileSync } from "node:fs"

const folder = new URL("../../src/sql/", import.meta.url)

/**
 * Reads a file in the folder of SQL files.
 *
 * The published package contains the texts of all files instead (`scripts/inlineSql.ts`), so that a program that is
 * bundled into one file needs no other files.
 */
export const read = (path: string): string => readFileSync(new URL(path, folder), "utf8")
