import { Ids, Storage } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Layer, type Scope } from "effect"

export type Port = Storage.Storage["Service"]

/** A storage backend as a separate host would open it, until the scope closes. */
export const open = (options: PgStorage.Options): Effect.Effect<Port, PgStorage.DatabaseRefused, Scope.Scope> =>
  Effect.map(Layer.build(PgStorage.layer(options)), Context.get(Storage.Storage))

/** A workspace by its number. */
export const workspace = (place: number): Ids.WorkspaceId =>
  Ids.WorkspaceId.make(`wks_${place.toString().padStart(26, "0")}`)
