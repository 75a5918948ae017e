import { type Layer, Result } from "effect"
import { isGuessable, readKey, type SealKeys } from "../access/sealing/Seal.ts"
import { InvalidConfig } from "../config/ConfigRules.ts"
import type { FieldError } from "../wire/FieldError.ts"

/**
 * The seal keys in the forms that `embed` accepts: strings in the format of `generateSealKey`, newest first, or a
 * layer.
 */
export type GivenSealKeys = ReadonlyArray<string | undefined> | Layer.Layer<SealKeys>

/** Reads seal keys from text. Each wrong key is reported by its index, and no key is repeated. */
export const read = (option: unknown): Result.Result<SealKeys["Service"], ReadonlyArray<FieldError>> => {
  const texts: ReadonlyArray<unknown> = Array.isArray(option) ? option : []
  const keys = texts.map((text) => (typeof text === "string" ? readKey(text) : null))
  const wrongKeys = keys.flatMap((key, index) => {
    if (key === null) return [{ path: `${index}`, message: `Must be a seal key: 32 bytes ${form}` }]
    return isGuessable(key) ? [{ path: `${index}`, message: `Can be guessed: pass 32 random bytes ${form}` }] : []
  })
  const [newest, ...older] = keys.filter((key) => key !== null)
  if (wrongKeys.length > 0) return Result.fail(wrongKeys)
  return newest === undefined
    ? Result.fail([
        { path: "", message: "Must be a list of at least one seal key, as generateSealKey() returns them." }
      ])
    : Result.succeed({ keys: [newest, ...older] })
}

const form = "in base64, as generateSealKey() returns them."

/** The error for opening a sealed storage with random keys because `seal_keys` was not passed. */
export const randomKeysRefused = new InvalidConfig({
  message:
    "Set seal_keys to the keys that sealed the data in this storage. Without seal_keys, random keys are used, which cannot open it."
})
