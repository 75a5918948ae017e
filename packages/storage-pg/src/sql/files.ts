import { readFileSync } from "node:fs"

// The package ships `src/sql`: the build copies no SQL, so `dist/sql/files.js` reads it from there too.
const folder = new URL("../../src/sql/", import.meta.url)

const read = (path: string): string => readFileSync(new URL(path, folder), "utf8")

/** Reads the query in `queries/<name>.sql`, and puts values in place of its variables: `:name`, as psql has them. */
export const query = (name: string, variables: Readonly<Record<string, string>> = {}): string =>
  read(`queries/${name}.sql`)
    .replaceAll(/^--.*\n/gm, "")
    .replaceAll(/(?<!:):([a-z]\w*)/g, (_, variable: string) => {
      const value = variables[variable]
      if (value === undefined) throw new Error(`queries/${name}.sql has the variable ${variable}, which has no value`)
      return value
    })

// A semicolon ends a statement, but not in a comment, in a text or in the body of a function.
const statement = /(?:--[^\n]*|\$\$[\s\S]*?\$\$|'[^']*'|[^;$'-]+|[$'-])+/g

/** Reads the statements of some files, in order. */
export const statements = (...paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) => (read(path).match(statement) ?? []).map((text) => text.trim()).filter((text) => text !== ""))
