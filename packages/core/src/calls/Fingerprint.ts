import { Effect } from "effect"
import { areEqual, type Seal } from "../access/Seal.ts"
import { isStorable } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"

/*
 * The fingerprint of an input: a keyed hash of its canonical text, a dot, and the length of that text. Equal inputs have
 * equal fingerprints, and a fingerprint does not reveal the input.
 */

/** The fingerprint of an input that was checked. */
export const of = (seal: Seal["Service"], input: unknown): Effect.Effect<string> => {
  const text = Json.canonical(input)
  return Effect.map(seal.mac(purpose, text), (mac) => join(mac, text))
}

/**
 * Whether an input has this fingerprint. False if the key that made the fingerprint is gone.
 *
 * The input may be unchecked. Most others differ in length, so they need neither be sorted nor hashed.
 */
export const matches = (seal: Seal["Service"], fingerprint: string, input: unknown): Effect.Effect<boolean> => {
  // The order of members does not change the length.
  if (!isStorable(input) || !fingerprint.endsWith(join("", JSON.stringify(input)))) return Effect.succeed(false)
  const text = Json.canonical(input)
  return Effect.map(
    seal.macLike(fingerprint, purpose, text),
    (mac) => mac !== null && areEqual(join(mac, text), fingerprint)
  )
}

const purpose = "fingerprint"

const join = (mac: string, text: string): string => `${mac}.${text.length}`
