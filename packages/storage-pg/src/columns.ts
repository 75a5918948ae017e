import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const { OID } = PgTypes

const two_to_32 = 2 ** 32

// Moments and counters are far below 2^53, where numbers are exact.
const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  write: (sink, value) => {
    const number = Number(value)
    sink.int32(Math.floor(number / two_to_32))
    sink.int32(number | 0)
    return Result.void
  },
  decode: (bytes) => Result.succeed(read(bytes, 0)),
  read: (bytes, offset) => Result.succeed(read(bytes, offset))
}

const read = (bytes: Uint8Array, offset: number): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, 8)
  return view.getInt32(0) * two_to_32 + view.getUint32(4)
}

/** How values travel: `bigint` columns as numbers. */
export const types: PgTypes.Registry = PgTypes.makeRegistry()
types.register(OID.int8, int8, { arrayOid: OID.int8Array })

const array = (values: ReadonlyArray<unknown> | null, oid: number): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, oid, types))

/** A column of values, an array on the wire: a statement takes many rows at once. */
type Column<A> = (values: ReadonlyArray<A | null> | null) => PgTypes.Parameter

export const texts: Column<string> = (values) => array(values, OID.text)
export const int4s: Column<number> = (values) => array(values, OID.int4)
export const int8s: Column<number> = (values) => array(values, OID.int8)
export const bools: Column<boolean> = (values) => array(values, OID.bool)

/** A column of rows, or null where none of them has a value: nothing costs nothing. */
export const filled = <Row, A>(
  column: Column<A>,
  rows: ReadonlyArray<Row>,
  value: (row: Row) => A | null
): PgTypes.Parameter => {
  const values = rows.map(value)
  return column(values.some((given) => given !== null) ? values : null)
}

/** One moment or counter. */
export const int8Of = (value: number | null): PgTypes.Parameter => PgTypes.int8(value === null ? null : BigInt(value))
