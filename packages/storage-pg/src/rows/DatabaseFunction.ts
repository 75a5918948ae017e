import type { PgTypes } from "@effect/sql-pg"
import { arraysOf, type Columns, type Row } from "./Columns.ts"

/**
 * A function of the database.
 *
 * It takes single values and rows: the values by their names, and of the rows `writes` an array for each column, such as
 * `writes_kind`. PostgreSQL finds no function if a name is wrong or missing.
 */
export interface DatabaseFunction<Values extends Columns, Rows extends Readonly<Record<string, Columns>>> {
  /** Calls the function, and answers its rows. */
  readonly statement: string
  readonly parameters: (
    values: Row<Values>,
    rows: { readonly [Kind in keyof Rows]: ReadonlyArray<Row<Rows[Kind]>> }
  ) => ReadonlyArray<PgTypes.Parameter>
}

/** Names a function in the schema `quotewire`, and what it takes. */
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
    parameters: (given, givenRows) => [
      ...Object.entries(values).map(([value, column]) => column.one(given[value])),
      ...Object.entries(rows).flatMap(([kind, columns]) => arraysOf(columns, givenRows[kind] ?? []))
    ]
  }
}
