import { read } from "./read.ts"

/** Reads the query in `queries/<name>.sql` and replaces its variables, which are written `:name` as in psql. */
export const query = (name: string, variables: Readonly<Record<string, string>> = {}): string =>
  read(`queries/${name}.sql`)
    .replaceAll(/^--.*\n/gm, "")
    .replaceAll(/(?<!:):([a-z]\w*)/g, (_, variable: string) => {
      const value = variables[variable]
      if (value === undefined) throw new Error(`queries/${name}.sql has the variable ${variable}, which has no value`)
      return value
    })

// Matches a statement. A semicolon ends it, unless it is inside a comment, a string or the body of a function.
const statement = /(?:--[^\n]*|\$\$[\s\S]*?\$\$|'[^']*'|[^;$'-]+|[$'-])+/g

/** Reads the statements of several files, in order. */
export const statements = (...paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) => (read(path).match(statement) ?? []).map((text) => text.trim()).filter((text) => text !== ""))
