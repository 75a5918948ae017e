import { readFileSync } from "node:fs"

const folder = new URL("../../src/sql/", import.meta.url)

/**
 * Reads a file of this folder.
 *
 * In a built package, this module contains the texts of all files (`scripts/inlineSql.ts`), so that a bundle needs no
 * other files.
 */
export const read = (path: string): string => readFileSync(new URL(path, folder), "utf8")
