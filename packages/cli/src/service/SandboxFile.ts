import { ApiKey, Ids, Seal } from "@quotewire/core"
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as JsonFile from "../carriers/JsonFile.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as PrivateFile from "../settings/PrivateFile.ts"

/*
 * The `sandbox.json` file in the folder of `quotewire dev --data`. It contains the secrets that are needed to read the
 * folder's database. Only the owner of the file can read it.
 */

const Key = Schema.String.check(Schema.makeFilter(ApiKey.isWellFormed))

const Content = Schema.Struct({
  /** The key that encrypts the stored data. It is saved before anything is encrypted. */
  seal_key: Schema.String.check(Schema.makeFilter((text) => Seal.readKey(text) !== null)),
  /** Missing until the first start has created the sandbox. */
  sandbox: Schema.optionalKey(
    Schema.Struct({
      organization_id: Ids.OrganizationId,
      keys: Schema.Struct({ server: Key, widget: Key, platform: Key }),
      operator_token: Schema.String
    })
  )
})
/** The content of the file. */
export type Content = typeof Content.Type

const decode = Schema.decodeUnknownOption(Content)
const encode = Schema.encodeSync(Content)

const pathIn = (folder: string) => Effect.map(Path.Path, ({ join }) => join(folder, "sandbox.json"))

/** Reads a folder's `sandbox.json`; `None` if it does not exist. */
export const read = Effect.fnUntraced(function* (folder: string) {
  const path = yield* pathIn(folder)
  const files = yield* FileSystem.FileSystem
  const isThere = yield* Effect.orElseSucceed(files.exists(path), () => true)
  if (!isThere) return Option.none()
  const content = decode(yield* JsonFile.read(path, path))
  if (Option.isNone(content)) {
    return yield* new CommandFailed({
      message: `${path} is not the file that this command wrote: restore the file, or remove ${folder} to start over.`
    })
  }
  return content
})

/** Writes a folder's `sandbox.json`. */
export const write = Effect.fnUntraced(function* (folder: string, content: Content) {
  const path = yield* pathIn(folder)
  yield* PrivateFile.replace(path, `${JSON.stringify(encode(content), null, 2)}\n`).pipe(
    Effect.catchTag("PlatformError", () => Effect.fail(new CommandFailed({ message: `${path} cannot be written.` })))
  )
})
