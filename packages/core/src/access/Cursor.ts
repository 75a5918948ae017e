import { Effect, Result } from "effect"
import { Base64Url } from "effect/encoding"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import { areEqual, macOfKey, partsOfMac, type Seal, signatureOf } from "./sealing/Seal.ts"

/** Identifies the list that a cursor belongs to. Any other list rejects the cursor. */
export interface CursorScope {
  readonly list: string
  readonly workspace_id: WorkspaceId
  /** The list's filters. The cursor is valid only with the same filters. */
  readonly filters?: Readonly<Record<string, unknown>>
}

/** Writes an opaque cursor: a position in the list, with a signature that is valid only for this list. */
export const write = (seal: Seal["Service"], scope: CursorScope, position: string): Effect.Effect<string> => {
  const encoded = Base64Url.encode(position)
  return Effect.map(
    seal.mac("cursor", signed(scope, encoded)),
    (mac) => `${encoded}.${partsOfMac(mac).key_name}.${signatureOf(mac)}`
  )
}

/** Reads a cursor for this list. Refuses another list's cursor, or an altered cursor, with `invalid_cursor`. */
export const read = Effect.fnUntraced(function* (seal: Seal["Service"], scope: CursorScope, cursor: string) {
  const [encoded = "", key_name = "", signature = "", ...rest] = cursor.split(".")
  const position = Base64Url.decodeString(encoded)
  if (Result.isFailure(position) || rest.length > 0) return yield* ApiError.make("invalid_cursor")
  const mac = yield* seal.macLike(macOfKey(key_name), "cursor", signed(scope, encoded))
  if (mac === null || !areEqual(signatureOf(mac), signature)) {
    return yield* ApiError.make("invalid_cursor")
  }
  return position.success
})

// Sign the encoded position, not the decoded one: several encodings decode to the same position, and only the encoding
// that `write` makes must be valid.
const signed = (scope: CursorScope, encoded: string): string =>
  Json.canonical([scope.list, scope.workspace_id, scope.filters ?? {}, encoded])
