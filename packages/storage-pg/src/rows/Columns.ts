import { PgTypes } from "@effect/sql-pg"
import { Result, Schema, Struct } from "effect"
import { wireTypes } from "./wireTypes.ts"

/** A column: the schema of its values, and how they are encoded as parameters. */
export interface Column<S extends Schema.Top = Schema.Top> {
  readonly schema: S
  one(value: S["Type"]): PgTypes.Parameter
  many(values: ReadonlyArray<S["Type"]>): PgTypes.Parameter
}

/** The columns of one kind of row, by name. Statements' parameters and readers of rows are derived from them. */
export type Columns = Readonly<Record<string, Column>>

/** A row that has these columns. */
export type Row<C extends Columns> = { readonly [Name in keyof C]: C[Name]["schema"]["Type"] }

const array = (values: ReadonlyArray<unknown> | null, oid: number): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, oid, wireTypes))

// If all values of a column are null, sends null instead of an array. Most changes leave many columns empty, and then
// the database has no array to parse.
const arrayUnlessNull = (values: ReadonlyArray<unknown>, oid: number): PgTypes.Parameter =>
  array(values.some((value) => value !== null) ? values : null, oid)

/** A `text` column. */
export const text = <S extends Schema.Codec<string | null, string | null>>(schema: S): Column<S> => ({
  schema,
  one: PgTypes.text,
  many: (values) => arrayUnlessNull(values, PgTypes.OID.text)
})

/** An `integer` column. */
export const int4 = <S extends Schema.Codec<number | null, number | null>>(schema: S): Column<S> => ({
  schema,
  one: PgTypes.int4,
  many: (values) => arrayUnlessNull(values, PgTypes.OID.int4)
})

/** A `bigint` column. */
export const int8 = <S extends Schema.Codec<number | null, number | null>>(schema: S): Column<S> => ({
  schema,
  one: (value) => PgTypes.int8(value === null ? null : BigInt(value)),
  many: (values) => arrayUnlessNull(values, PgTypes.OID.int8)
})

/** A `boolean` column. */
export const bool = <S extends Schema.Codec<boolean | null, boolean | null>>(schema: S): Column<S> => ({
  schema,
  one: PgTypes.bool,
  many: (values) => arrayUnlessNull(values, PgTypes.OID.bool)
})

const joined = (lines: ReadonlyArray<string> | null): string | null =>
  lines === null || lines.length === 0 ? null : lines.join("\n")

/**
 * A `text[]` column whose texts contain no line breaks. For several rows, the texts of each are joined with line
 * breaks, because nested arrays must have equal lengths.
 */
export const texts = <S extends Schema.Codec<ReadonlyArray<string> | null, ReadonlyArray<string> | null>>(
  schema: S
): Column<S> => ({
  schema,
  one: (values) => array(values, PgTypes.OID.text),
  many: (values) => arrayUnlessNull(values.map(joined), PgTypes.OID.text)
})

/** Turns rows into parameters, one array for each column. */
export const arraysOf = <C extends Columns>(
  columns: C,
  rows: ReadonlyArray<Row<C>>
): ReadonlyArray<PgTypes.Parameter> =>
  Object.entries(columns).map(([name, column]) =>
    column.many(rows.map((row: Readonly<Record<string, unknown>>) => row[name]))
  )

/** The column list for a query. */
export const selectListOf = (columns: Columns): string => Object.keys(columns).join(", ")

interface SchemaOf extends Struct.Lambda {
  <S extends Schema.Top>(column: Column<S>): S
  readonly "~lambda.out": this["~lambda.in"] extends Column<infer S> ? S : never
}

/** The schema of a row that has these columns. */
export const rowSchema = <C extends Columns>(columns: C) =>
  Schema.Struct(
    Struct.map(
      columns,
      Struct.lambda<SchemaOf>(({ schema }) => schema)
    )
  )

/** Creates a reader of rows. It throws for a missing column or an invalid value, because that is a bug. */
export const rowsReader = <A>(schema: Schema.Codec<A, unknown>): ((rows: unknown) => ReadonlyArray<A>) =>
  Schema.decodeUnknownSync(Schema.Array(schema))

/** Like `rowsReader`, for results that always have at least one row. */
export const someRowsReader = <A>(schema: Schema.Codec<A, unknown>): ((rows: unknown) => readonly [A, ...Array<A>]) =>
  Schema.decodeUnknownSync(Schema.NonEmptyArray(schema))
