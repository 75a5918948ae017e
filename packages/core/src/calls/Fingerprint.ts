import { Effect } from "effect"
import { areEqual, type Seal } from "../access/sealing/Seal.ts"
import type { RecordKey } from "../storage/Storage.ts"
import { isStorable } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"

/*
 * An input's fingerprint is a keyed hash of its canonical JSON, a dot, and the length of that JSON. Within one record,
 * equal inputs have equal fingerprints. A fingerprint does not reveal its input.
 */

/** Identifies the record that keeps a fingerprint. In any other record, the fingerprint matches no input. */
export interface FingerprintedRecord extends Pick<RecordKey, "workspace_id" | "kind" | "id"> {}

/** Makes the fingerprint of a checked input. */
export const of = (seal: Seal["Service"], keptIn: FingerprintedRecord, input: unknown): Effect.Effect<string> => {
  const text = Json.canonical(input)
  return Effect.map(seal.mac(purposeOf(keptIn), text), (mac) => join(mac, text))
}

/**
 * Whether an input has this fingerprint. False if the settings no longer have the key that made the fingerprint.
 *
 * The input may not have been checked yet. Lengths are compared first, so most inputs that differ are never sorted or
 * hashed.
 */
export const matches = (
  seal: Seal["Service"],
  keptIn: FingerprintedRecord,
  fingerprint: string,
  input: unknown
): Effect.Effect<boolean> => {
  // The order of an object's members does not affect its JSON length, so comparing lengths needs no canonical text.
  if (!isStorable(input) || !fingerprint.endsWith(join("", JSON.stringify(input)))) return Effect.succeed(false)
  const text = Json.canonical(input)
  return Effect.map(
    seal.macLike(fingerprint, purposeOf(keptIn), text),
    (mac) => mac !== null && areEqual(join(mac, text), fingerprint)
  )
}

const purposeOf = ({ id, kind, workspace_id }: FingerprintedRecord): string =>
  `fingerprint ${workspace_id} ${kind} ${id}`

const join = (mac: string, text: string): string => `${mac}.${text.length}`
