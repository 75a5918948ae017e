import { Effect } from "effect"
import type { Seal } from "../access/Seal.ts"

/** A keyed hash of an input, by the key that made the older hash if there is one, so that both can be compared. */
export const fingerprintLike = (seal: Seal["Service"], older: string | null, text: string): Effect.Effect<string> =>
  older === null
    ? seal.mac("fingerprint", text)
    : Effect.map(seal.macLike(older, "fingerprint", text), (mac) => mac ?? "")
