import { readFileSync } from "node:fs"

// The package ships this folder unchanged. The modules in `src/sql` and in `dist/sql` read the same files.
const folder = new URL("../../src/sql/", import.meta.url)

const read = (path: string): string => readFileSync(new URL(path, folder), "utf8")

/** Reads the query in `queries/<name>.sql`, and replaces its variables: `:name`, as in psql. */
export const query = (name: string, variables: Readonly<Record<string, string>> = {}): string =>
  read(`queries/${name}.sql`)
    .replaceAll(/^--.*\n/gm, "")
    .replaceAll(/(?<!:):([a-z]\w*)/g, (_, variable: string) => {
      const value = variables[variable]
      if (value === undefined) throw new Error(`queries/${name}.sql has the variable ${variable}, which has no value`)
      return value
    })

// A semicolon ends a statement, but not inside a comment, a string or the body of a function.
const statement = /(?:--[^\n]*|\$\$[\s\S]*?\$\$|'[^']*'|[^;$'-]+|[$'-])+/g

/** Reads the statements of several files, in order. */
export const statements = (...paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) => (read(path).match(statement) ?? []).map((text) => text.trim()).filter((text) => text !== ""))
