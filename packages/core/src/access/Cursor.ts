import { Effect, Result } from "effect"
import { Base64Url } from "effect/encoding"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import * as KeyedHash from "./KeyedHash.ts"
import type { Seal } from "./Seal.ts"

/** Which list a cursor belongs to: it is refused by every other one. */
export interface CursorScope {
  readonly list: string
  readonly workspace_id: WorkspaceId
  /** The filters of the list, which must come with the cursor again. */
  readonly filters?: Readonly<Record<string, unknown>>
}

/** Writes an opaque cursor: a position, signed for the list that it belongs to. */
export const write = (seal: Seal["Service"], scope: CursorScope, position: string): Effect.Effect<string> => {
  const encoded = Base64Url.encode(position)
  return Effect.map(
    seal.mac("cursor", signed(scope, encoded)),
    (mac) => `${encoded}.${KeyedHash.partsOf(mac).key_name}.${KeyedHash.signatureOf(mac)}`
  )
}

/** Reads a cursor of this list; a foreign or altered one is refused with `invalid_cursor`. */
export const read = Effect.fnUntraced(function* (seal: Seal["Service"], scope: CursorScope, cursor: string) {
  const [encoded = "", key_name = "", signature = "", ...rest] = cursor.split(".")
  const position = Base64Url.decodeString(encoded)
  if (Result.isFailure(position) || rest.length > 0) return yield* ApiError.make("invalid_cursor")
  const mac = yield* seal.macLike(KeyedHash.byKey(key_name), "cursor", signed(scope, encoded))
  if (mac === null || !KeyedHash.areEqual(KeyedHash.signatureOf(mac), signature)) {
    return yield* ApiError.make("invalid_cursor")
  }
  return position.success
})

// The position as it is written: one position can be written in several ways, and only ours is genuine.
const signed = (scope: CursorScope, encoded: string): string =>
  Json.canonical([scope.list, scope.workspace_id, scope.filters ?? {}, encoded])
