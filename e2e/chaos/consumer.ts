import { readFileSync } from "node:fs"
import { embed } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Redacted, Schema } from "effect"

/*
 * A program that embeds the service only to consume its events, and reports each one to `CHAOS_SINK`.
 */

const { CHAOS_SINK = "", QUOTEWIRE_CELLS, QUOTEWIRE_DATABASE_URL, QUOTEWIRE_SEAL_KEYS = "" } = process.env

const File = Schema.fromJsonString(
  Schema.NonEmptyArray(
    Schema.Struct({ name: Schema.String, url: Schema.String, moves_to: Schema.optionalKey(Schema.String) })
  )
)
const cellOf = ({ moves_to, name, url }: (typeof File.Type)[number]): PgCells.CellOptions => ({
  name,
  url: Redacted.make(url),
  ...(moves_to !== undefined && { moves_to: Redacted.make(moves_to) })
})
const cellsOf = (file: string): PgCells.AllCells => {
  const [first, ...others] = Schema.decodeUnknownSync(File)(readFileSync(file, "utf8"))
  return [cellOf(first), ...others.map(cellOf)]
}

const storage =
  QUOTEWIRE_CELLS === undefined
    ? postgres({ url: QUOTEWIRE_DATABASE_URL })
    : PgCells.layerWithClock(cellsOf(QUOTEWIRE_CELLS))

const quotewire = embed({ storage, seal_keys: QUOTEWIRE_SEAL_KEYS.split(","), work: false })
const stop = quotewire.consume(
  "chaos",
  async ({ id }, { signal }) => {
    const { ok } = await fetch(CHAOS_SINK, { method: "POST", body: id, signal })
    if (!ok) throw new Error("The sink refuses an event")
  },
  { from: "oldest", lease_ms: 2_000 }
)
// Ends together with its parent.
process.on("disconnect", () => process.exit())
await stop.ready
