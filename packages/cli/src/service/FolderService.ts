import { Access, type Config, Quotewire, Seal, type Storage } from "@quotewire/core"
import { postgres } from "@quotewire/storage-pg"
import { type Context, Effect, Layer, Option } from "effect"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as DevSandbox from "./DevSandbox.ts"
import * as SandboxFile from "./SandboxFile.ts"
import * as Service from "./Service.ts"

/*
 * A persistent sandbox: the whole service and its worker, on a database in a folder.
 */

const otherFile = (folder: string) =>
  new CommandFailed({
    message: `sandbox.json in ${folder} does not have the keys of the database there: restore sandbox.json, or remove the folder to start over.`
  })

const folderLost = (folder: string) =>
  new CommandFailed({ message: `The database in ${folder} has failed. Run the command again.` })

const storageIn = (folder: string) =>
  Layer.build(postgres({ data: folder })).pipe(
    Effect.catchTag("DatabaseRefused", ({ message }) => Effect.fail(new CommandFailed({ message })))
  )

/**
 * Reads the folder's secrets. In a new folder, creates a seal key and saves it before anything is encrypted with it.
 */
const contentOf = Effect.fnUntraced(function* (folder: string, storage: Context.Context<Storage.Storage>) {
  const sandboxFile = yield* SandboxFile.read(folder)
  if (Option.isSome(sandboxFile)) return sandboxFile.value
  const isSealed = Effect.mapError(Quotewire.isSealed, () => folderLost(folder))
  if (yield* Effect.provideContext(isSealed, storage)) return yield* otherFile(folder)
  const content: SandboxFile.Content = { seal_key: Seal.generateSealKey() }
  yield* SandboxFile.write(folder, content)
  return content
})

/** Reads the sandbox that an earlier start created, or creates one and saves it before its keys are shown. */
const sandboxOf = Effect.fnUntraced(function* (folder: string, content: SandboxFile.Content) {
  const unavailable = () => folderLost(folder)
  if (content.sandbox === undefined) {
    const sandbox = yield* Effect.mapError(DevSandbox.make, unavailable)
    const { organization, ...secrets } = sandbox
    yield* SandboxFile.write(folder, { ...content, sandbox: { organization_id: organization.id, ...secrets } })
    return sandbox
  }
  const { organization_id, ...secrets } = content.sandbox
  const organizations = yield* Access.Access.use(({ listOrganizations }) =>
    Effect.mapError(listOrganizations, unavailable)
  )
  const organization = organizations.find(({ id }) => id === organization_id)
  return organization === undefined ? yield* otherFile(folder) : { organization, ...secrets }
})

/** Opens the service and its sandbox in a folder, until the scope closes. */
export const open = Effect.fnUntraced(function* (
  folder: string,
  settings: Service.ServiceSettings,
  config: Config,
  base_url: Effect.Effect<string>
) {
  const storage = yield* storageIn(folder)
  const content = yield* contentOf(folder, storage)
  const sealKey = Seal.readKey(content.seal_key)
  if (sealKey === null) return yield* otherFile(folder)
  const service = Service.layer(settings, {
    config,
    storage: Layer.succeedContext(storage),
    sealKeys: Layer.succeed(Seal.SealKeys, { keys: [sealKey] }),
    base_url,
    wrong_keys: () => otherFile(folder)
  })
  const core = yield* Layer.build(Layer.provideMerge(Quotewire.worker, service))
  return { core, sandbox: yield* Effect.provideContext(sandboxOf(folder, content), core) }
})
