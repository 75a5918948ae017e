import type { PgTypes } from "@effect/sql-pg"
import { arraysOf, type Columns, type Row } from "./Columns.ts"

/**
 * A function of the database.
 *
 * Its parameters are named values and rows. Rows are passed as one array for each column: the rows `writes`, for
 * example, have an array `writes_kind`. If a parameter's name is wrong or missing, PostgreSQL does not find the
 * function.
 */
export interface DatabaseFunction<Values extends Columns, Rows extends Readonly<Record<string, Columns>>> {
  /** The statement that calls the function and returns its rows. */
  readonly statement: string
  readonly parameters: (
    values: Row<Values>,
    rows: { readonly [Kind in keyof Rows]: ReadonlyArray<Row<Rows[Kind]>> }
  ) => ReadonlyArray<PgTypes.Parameter>
}

/** Describes a function in the `quotewire` schema, and its parameters. */
export const make = <Values extends Columns, Rows extends Readonly<Record<string, Columns>>>(
  name: string,
  values: Values,
  rows: Rows
): DatabaseFunction<Values, Rows> => {
  const names = [
    ...Object.keys(values),
    ...Object.entries(rows).flatMap(([kind, columns]) => Object.keys(columns).map((column) => `${kind}_${column}`))
  ]
  const named = names.map((parameter, index) => `${parameter} => $${index + 1}`)
  return {
    statement: `select * from quotewire.${name}(${named.join(", ")})`,
    parameters: (scalars, givenRows) => [
      ...Object.entries(values).map(([value, column]) => column.one(scalars[value])),
      ...Object.entries(rows).flatMap(([kind, columns]) => arraysOf(columns, givenRows[kind] ?? []))
    ]
  }
}
