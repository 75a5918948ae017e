import { type Layer, Result } from "effect"
import { isGuessable, readKey, type SealKeys } from "../access/sealing/Seal.ts"
import { InvalidConfig } from "../config/ConfigRules.ts"

/**
 * The seal keys in the forms that `embed` accepts: strings in the format of `generateSealKey`, newest first, or a
 * layer.
 */
export type GivenSealKeys = ReadonlyArray<string | undefined> | Layer.Layer<SealKeys>

/** Reads seal keys from text. The error names invalid keys by their index, and never repeats a key. */
export const read = (option: unknown): Result.Result<SealKeys["Service"], InvalidConfig> => {
  const texts: ReadonlyArray<unknown> = Array.isArray(option) ? option : []
  const keys = texts.map((text) => (typeof text === "string" ? readKey(text) : null))
  const namesOf = (isWrong: (key: (typeof keys)[number]) => boolean) =>
    keys.flatMap((key, index) => (isWrong(key) ? [`seal_keys[${index}]`] : []))
  const wrong = namesOf((key) => key === null)
  const guessable = namesOf((key) => key !== null && isGuessable(key))
  const [newest, ...older] = keys.filter((key) => key !== null)
  if (newest !== undefined && wrong.length === 0) {
    return guessable.length === 0
      ? Result.succeed({ keys: [newest, ...older] })
      : Result.fail(new InvalidConfig({ message: `${guessable.join(" and ")} can be guessed: ${whatToDo}` }))
  }
  const problem =
    wrong.length === 0 ? "seal_keys must be a list of at least one key" : `${wrong.join(" and ")} must be a seal key`
  return Result.fail(
    new InvalidConfig({ message: `${problem}: 32 bytes in base64, as generateSealKey() returns them.` })
  )
}

const whatToDo = "pass 32 random bytes in base64, as generateSealKey() returns them."

/** The error for opening a sealed storage with random keys because `seal_keys` was not passed. */
export const randomKeysRefused = new InvalidConfig({
  message:
    "Set seal_keys to the keys that sealed the data in this storage. Without seal_keys, random keys are used, which cannot open it."
})
