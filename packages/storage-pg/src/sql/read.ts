import { readFileSync } from "node:fs"

const folder = new URL("../../src/sql/", import.meta.url)

/**
 * Reads a file of this folder.
 *
 * In a built package, `scripts/inlineSql.ts` has put the texts of all files into this module, so that a bundle needs no
 * other files.
 */
export const read = (path: string): string => readFileSync(new URL(path, folder), "utf8")
