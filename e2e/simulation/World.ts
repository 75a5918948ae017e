import { Access, type Caller, type Ids, Quotewire, type Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { Effect, type Exit, Layer } from "effect"
import * as Chance from "../chaos/Chance.ts"
import * as Machine from "./Machine.ts"
import * as SimulatedCryptography from "./SimulatedCryptography.ts"

/*
 * What exists before a story begins: two organizations, and their keys. It is the same for every seed.
 */

/** When every story begins. */
export const beginsAt = Date.UTC(2026, 10, 2, 12)

/** The workspaces of a story: each organization has a sandbox and a live one. */
export const workspaceNames = ["acme sandbox", "acme live", "bolt sandbox", "bolt live"] as const
export type WorkspaceName = (typeof workspaceNames)[number]

/** The environment of a workspace. */
export const environmentOf = (name: WorkspaceName): Caller.Environment => (name.endsWith("live") ? "live" : "sandbox")

/** A workspace, and the keys that call in it. */
export interface Workspace {
  readonly id: Ids.WorkspaceId
  readonly organization_id: Ids.OrganizationId
  readonly server: string
  /** A second server key, which a story may revoke. */
  readonly spare: { readonly id: Ids.KeyId; readonly key: string }
  readonly platform: string
  readonly widget: string
}

/** Every workspace by name. */
export type Workspaces = { readonly [name in WorkspaceName]: Workspace }

/** The seal keys of all hosts. */
export const sealKeys = World.sealKeys(0)

const organization = Effect.fnUntraced(function* (name: "acme" | "bolt") {
  const access = yield* Access.Access
  const { id, workspaces } = yield* access.createOrganization(name)
  const workspace = Effect.fnUntraced(function* (environment: Caller.Environment) {
    const keyOf = (kind: Caller.KeyKind) => access.createKey({ organization_id: id, environment, kind })
    const [server, spare, platform, widget] = yield* Effect.all([
      keyOf("server"),
      keyOf("server"),
      keyOf("platform"),
      keyOf("widget")
    ])
    const made: Workspace = {
      id: workspaces[environment],
      organization_id: id,
      server: server.key,
      spare: { id: spare.key_id, key: spare.key },
      platform: platform.key,
      widget: widget.key
    }
    return made
  })
  return { sandbox: yield* workspace("sandbox"), live: yield* workspace("live") }
})

/** Creates the organizations in an empty storage, which is opened in a separate process. */
export const create = (
  storage: Layer.Layer<Storage.Storage, unknown>,
  then: (exit: Exit.Exit<Workspaces, unknown>) => void
): void => {
  const chance = Chance.make(0)
  const machine = Machine.make(chance, beginsAt)
  const administration = Quotewire.administration.pipe(
    Layer.provide(storage),
    Layer.provide(SimulatedCryptography.layer(chance))
  )
  const both = Effect.gen(function* () {
    const acme = yield* organization("acme")
    const bolt = yield* organization("bolt")
    const workspaces: Workspaces = {
      "acme sandbox": acme.sandbox,
      "acme live": acme.live,
      "bolt sandbox": bolt.sandbox,
      "bolt live": bolt.live
    }
    return workspaces
  })
  machine.start("administration").run(Effect.provide(both, administration), then)
  machine.runUntil(beginsAt + 1_000)
}
