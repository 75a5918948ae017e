import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const { OID } = PgTypes

const bytes = 8

// JavaScript numbers are exact up to 2^53. Times and counters stay far below that.
const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    const encoded = new Uint8Array(bytes)
    new DataView(encoded.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(encoded)
  },
  decode: ({ buffer, byteOffset }) => Result.succeed(Number(new DataView(buffer, byteOffset, bytes).getBigInt64(0)))
}

const registry = (): PgTypes.Registry => {
  const types = PgTypes.makeRegistry()
  types.register(OID.int8, int8, { arrayOid: OID.int8Array })
  return types
}

/** The type codecs of connections. They read `bigint` columns as numbers. */
export const wireTypes: PgTypes.Registry = registry()
