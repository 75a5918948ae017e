import { PgCells } from "@quotewire/storage-pg/cells"
import { Array, Effect, Option, Redacted, Schema } from "effect"
import * as JsonFile from "../carriers/JsonFile.ts"
import { WrongUsage } from "../settings/CommandErrors.ts"
import { settingError } from "../settings/Settings.ts"
import { isDatabaseUrl } from "../settings/StorageSettings.ts"

const decodeList = Schema.decodeUnknownOption(Schema.NonEmptyArray(Schema.Record(Schema.String, Schema.String)))

const wrongCells = (requirement: string) =>
  new WrongUsage({ message: `${settingError("cells", `name a cells file: ${requirement}`)}.` })

/**
 * Finds the mistake in one cell of the file; null if the cell is valid. The error names the field but never repeats its
 * value.
 */
const mistakeIn = ({
  moves_to,
  name,
  schema,
  url,
  ...unknownFields
}: Readonly<Record<string, string>>): string | null => {
  if (name === undefined || !PgCells.isCellName(name))
    return "name must have at most 40 lower-case letters, digits and hyphens"
  if (url === undefined || !isDatabaseUrl(url))
    return "url must be an address such as postgres://user:password@host:5432/db"
  if (moves_to !== undefined && (!isDatabaseUrl(moves_to) || moves_to === url)) {
    return "moves_to must be the address of another database, such as postgres://user:password@host:5432/db"
  }
  if (schema !== undefined && !PgCells.isSchemaName(schema)) {
    return "schema must have at most 50 lower-case letters, digits and underscores"
  }
  return Object.keys(unknownFields).length > 0 ? "the fields must be name, url, schema and moves_to" : null
}

const cellOf = ({ moves_to, name = "", schema, url = "" }: Readonly<Record<string, string>>): PgCells.CellOptions => ({
  name,
  url: Redacted.make(url),
  ...(schema !== undefined && { schema }),
  ...(moves_to !== undefined && { moves_to: Redacted.make(moves_to) })
})

/**
 * Reads the cells file, a JSON list of `{ name, url, schema, moves_to }`. The order matters: the first entry is the
 * first cell.
 */
export const read = Effect.fnUntraced(function* (file: string) {
  const json = yield* JsonFile.read(file, settingName).pipe(
    Effect.mapError(({ message }) => new WrongUsage({ message }))
  )
  const list = decodeList(json)
  if (Option.isNone(list)) return yield* wrongCells('a JSON list such as [{ "name": "eu-1", "url": "postgres://…" }]')
  for (const [place, cell] of list.value.entries()) {
    const mistake = mistakeIn(cell)
    if (mistake !== null) return yield* wrongCells(`in cell ${place + 1}, ${mistake}`)
  }
  const cells = Array.map(list.value, cellOf)
  const names = cells.map(({ name }) => name)
  if (new Set(names).size < names.length) return yield* wrongCells("each cell must have a different name")
  return cells
})

const settingName = "--cells (or QUOTEWIRE_CELLS)"
