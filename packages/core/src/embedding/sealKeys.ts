import { type Layer, Result } from "effect"
import { readKey, type SealKeys } from "../access/Seal.ts"
import { InvalidConfig } from "../config/ConfigRules.ts"

/** The seal keys as `embed` takes them: texts as `generateSealKey` makes them, newest first, or a layer of your own. */
export type GivenSealKeys = ReadonlyArray<string | undefined> | Layer.Layer<SealKeys>

/** Reads seal keys from their texts. The error names wrong keys by their index, and never repeats a text. */
export const read = (given: unknown): Result.Result<SealKeys["Service"], InvalidConfig> => {
  const texts: ReadonlyArray<unknown> = Array.isArray(given) ? given : []
  const keys = texts.map((text) => (typeof text === "string" ? readKey(text) : null))
  const wrong = keys.flatMap((key, index) => (key === null ? [`seal_keys[${index}]`] : []))
  const [newest, ...older] = keys.filter((key) => key !== null)
  if (newest !== undefined && wrong.length === 0) return Result.succeed({ keys: [newest, ...older] })
  const what =
    wrong.length === 0 ? "seal_keys must be a list of at least one key" : `${wrong.join(" and ")} must be a seal key`
  return Result.fail(new InvalidConfig({ message: `${what}: 32 bytes in base64, as generateSealKey() makes them.` }))
}

/** The refusal to open a sealed storage with random keys, because `seal_keys` was not given. */
export const randomKeysRefused = new InvalidConfig({
  message:
    "seal_keys was not given, so random keys were made, which do not open what this storage holds: pass the keys that it was sealed with as seal_keys."
})
