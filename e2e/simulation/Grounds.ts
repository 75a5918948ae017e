import { type Ids, kinds, type Storage, Storage as Storages } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Exit, Layer, Option } from "effect"
import * as ModelStorage from "./ModelStorage.ts"
import type { Ground } from "./play.ts"
import * as SimulatedStorage from "./SimulatedStorage.ts"
import * as World from "./World.ts"

/*
 * The storage backends that stories are played on, with the organizations that exist before every story.
 */

const serviceOf = (layer: Layer.Layer<Storages.Storage>): Storage.Storage["Service"] =>
  Effect.runSync(Effect.scoped(Effect.map(Layer.build(layer), Context.get(Storages.Storage))))

/** Creates the storage of a story, with its organizations. */
export type NewGround = (seed: number) => Ground

interface Copyable {
  readonly layer: Layer.Layer<Storages.Storage>
  readonly copy: () => { readonly layer: Layer.Layer<Storages.Storage> }
}

/** The bodies of all records of workspaces, including older versions. */
const textsOf = (storage: Storage.Storage["Service"], ids: ReadonlyArray<Ids.WorkspaceId>): ReadonlyArray<string> =>
  ids.flatMap((workspace_id) =>
    kinds.all.flatMap(({ name }) => {
      const query = { workspace_id, kind: name, order: "oldest", after: null, limit: 100_000 } as const
      return Effect.runSync(storage.page(query)).records.flatMap(({ body, id, version }) => [
        body,
        ...Array.from({ length: version - 1 }, (_, older) => {
          const found = Effect.runSync(storage.get({ workspace_id, kind: name, id, version: older + 1 }))
          return Option.isNone(found) ? "" : found.value.body
        })
      ])
    })
  )

/** The organizations are created once, and then copied. */
const copies = (first: Copyable): ((hears: boolean) => Ground) => {
  let workspaces: World.Workspaces | null = null
  World.create(first.layer, (exit) => {
    if (Exit.isSuccess(exit)) workspaces = exit.value
  })
  return (hears) => {
    if (workspaces === null) throw new Error("The organizations could not be created")
    const storage = serviceOf(first.copy().layer)
    const ids = Object.values(workspaces).map(({ id }) => id)
    return { storage: SimulatedStorage.share(storage, { hears }), workspaces, texts: () => textsOf(storage, ids) }
  }
}

/**
 * Stories with even seeds are played on the in-memory storage, the others on the storage model. In every second pair of
 * seeds, hosts claim only if they have heard that there may be due work.
 */
export const inMemory = (): NewGround => {
  const memory = copies(MemoryStorage.copyable())
  const model = copies(ModelStorage.copyable())
  return (seed) => (seed % 2 === 0 ? memory : model)(seed % 4 >= 2)
}
