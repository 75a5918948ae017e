import { Effect } from "effect"
import type { Seal } from "../access/Seal.ts"

/** A keyed hash of an input, comparable with `older`: if there is an older hash, it is made with the same key. */
export const fingerprintLike = (seal: Seal["Service"], older: string | null, text: string): Effect.Effect<string> =>
  older === null
    ? seal.mac("fingerprint", text)
    : Effect.map(seal.macLike(older, "fingerprint", text), (mac) => mac ?? "")
