import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const { OID } = PgTypes

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

// Moments and counters are far below 2^53, where numbers are exact.
const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    view(bytes).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) => Result.succeed(Number(view(bytes).getBigInt64(0)))
}

/** How values travel: `bigint` columns as numbers. */
export const types: PgTypes.Registry = PgTypes.makeRegistry()
types.register(OID.int8, int8, { arrayOid: OID.int8Array })

const array = (values: ReadonlyArray<unknown>, oid: number): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, oid, types))

/** Columns of values, each an array on the wire: a statement takes many rows at once. */
export const texts = (values: ReadonlyArray<string | null>): PgTypes.Parameter => array(values, OID.text)
export const int4s = (values: ReadonlyArray<number | null>): PgTypes.Parameter => array(values, OID.int4)
export const int8s = (values: ReadonlyArray<number | null>): PgTypes.Parameter => array(values, OID.int8)
export const bools = (values: ReadonlyArray<boolean | null>): PgTypes.Parameter => array(values, OID.bool)

/** One moment or counter. */
export const int8Of = (value: number | null): PgTypes.Parameter => PgTypes.int8(value === null ? null : BigInt(value))
