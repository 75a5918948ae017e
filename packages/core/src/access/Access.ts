import { Clock, Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import * as ApiError from "../ApiError.ts"
import { Ids, type KeyId, type OrganizationId, type WorkspaceId } from "../Ids.ts"
import * as Json from "../Json.ts"
import * as Workspace from "../sandbox/Workspace.ts"
import { changeOf } from "../sandbox/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import { directory, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { type ApiKey, isWellFormed, random_bytes, write } from "./ApiKey.ts"
import type { Caller, Environment, KeyKind } from "./Caller.ts"
import type { Organization } from "./Organization.ts"
import { Seal } from "./Seal.ts"

/** What a call brings along to say who calls. */
export interface Credentials {
  /** The API key as it was sent; null where no `Authorization` was sent. */
  readonly key: string | null
  /** The read handle, if one was sent. */
  readonly read_handle: string | null
  /** The address of the other side, for the limits of callers without a key. */
  readonly address: string
  /** Whether this door admits callers without a key (only the agent endpoint does). */
  readonly keyless: boolean
}

/** A key as it is made: the only time that it is shown. */
export interface IssuedKey {
  readonly key_id: KeyId
  readonly key: string
}

/** The workspace in which callers without a key act; null where they are not admitted. */
export const KeylessWorkspace = Context.Reference<{
  readonly organization_id: OrganizationId
  readonly workspace_id: WorkspaceId
  readonly environment: Environment
} | null>("@quotewire/core/KeylessWorkspace", { defaultValue: () => null })

/** Makes organizations and keys, and tells who calls. */
export class Access extends Context.Service<
  Access,
  {
    /** Makes an organization with its two workspaces. */
    readonly createOrganization: (name: string) => Effect.Effect<Organization, StorageUnavailable>
    /**
     * Makes a key; `not_found` where the organization does not exist.
     *
     * `key` is a key that exists already, of this environment and kind: for a storage that ends with the process.
     */
    readonly createKey: (options: {
      readonly organization_id: OrganizationId
      readonly environment: Environment
      readonly kind: KeyKind
      readonly key?: string
    }) => Effect.Effect<IssuedKey, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Tells who calls; `authentication_failed` where the key is missing, mistyped, unknown or revoked. */
    readonly authenticate: (
      credentials: Credentials
    ) => Effect.Effect<Caller, ApiError.ApiError<"authentication_failed"> | StorageUnavailable>
  }
>()("@quotewire/core/Access") {
  static readonly layer: Layer.Layer<Access, never, Storage | Seal | Ids | SecureRandom.SecureRandom> = Layer.effect(
    Access,
    Effect.gen(function* () {
      const storage = yield* Storage
      const seal = yield* Seal
      const ids = yield* Ids
      const random = yield* SecureRandom.SecureRandom
      const known = yield* knownKeys
      // New identifiers cannot be taken, and nothing here holds a lease.
      const commit = (change: Change.Change) =>
        storage.commit(change).pipe(Effect.catchTag(["VersionConflict", "LeaseLost"], (error) => Effect.die(error)))

      const createOrganization = Effect.fn("Access.createOrganization")(function* (name: string) {
        const now = yield* Clock.currentTimeMillis
        const organization: Organization = {
          id: ids.organization(),
          name,
          created_at: now,
          workspaces: { sandbox: ids.workspace(), live: ids.workspace() }
        }
        // The workspaces first: an organization that can be found has both.
        yield* Effect.forEach(
          ["sandbox", "live"] as const,
          (environment) =>
            commit(changeOf(Workspace.create(organization.workspaces[environment], organization.id, environment, now))),
          { discard: true }
        )
        yield* commit(directoryChange("organization", organization.id, organization, now))
        return organization
      })

      const createKey = Effect.fn("Access.createKey")(function* (options: {
        readonly organization_id: OrganizationId
        readonly environment: Environment
        readonly kind: KeyKind
        readonly key?: string
      }) {
        const stored = yield* storage.get({
          workspace_id: directory,
          kind: "organization",
          id: options.organization_id
        })
        if (Option.isNone(stored)) return yield* ApiError.make("not_found")
        const organization = Json.decode(Json.fromText<Organization>(stored.value.body))
        const now = yield* Clock.currentTimeMillis
        const key = options.key ?? write(options.environment, options.kind, yield* random.randomBytes(random_bytes))
        const apiKey: ApiKey = {
          id: ids.key(),
          organization_id: organization.id,
          workspace_id: organization.workspaces[options.environment],
          environment: options.environment,
          kind: options.kind,
          created_at: now,
          revoked_at: null
        }
        yield* commit(directoryChange("api_key", yield* seal.hash(key), apiKey, now))
        return { key_id: apiKey.id, key }
      })

      const find = Effect.fnUntraced(function* (key: string) {
        const now = yield* Clock.currentTimeMillis
        const remembered = known.get(key, now)
        if (remembered !== undefined) return remembered
        if (!isWellFormed(key)) return null
        const hash = yield* seal.hash(key)
        const stored = yield* storage.get({ workspace_id: directory, kind: "api_key", id: hash })
        if (Option.isNone(stored)) return null
        const apiKey = Json.decode(Json.fromText<ApiKey>(stored.value.body))
        if (apiKey.revoked_at !== null) return null
        known.set(key, apiKey)
        return apiKey
      })

      const authenticate = Effect.fnUntraced(function* (credentials: Credentials) {
        if (credentials.key === null) {
          const workspace = credentials.keyless ? yield* KeylessWorkspace : null
          if (workspace === null) return yield* ApiError.make("authentication_failed")
          const caller: Caller = { ...workspace, kind: "keyless", key_id: null, read_handle: credentials.read_handle }
          return caller
        }
        const apiKey = yield* find(credentials.key)
        if (apiKey === null) return yield* ApiError.make("authentication_failed")
        const { id: key_id, kind, environment, organization_id, workspace_id } = apiKey
        const { read_handle } = credentials
        const caller: Caller = { kind, environment, organization_id, workspace_id, key_id, read_handle }
        return caller
      })

      return Access.of({ createOrganization, createKey, authenticate })
    })
  )
}

const directoryChange = (kind: "organization" | "api_key", id: string, value: object, now: number): Change.Change =>
  Change.make(directory, {
    writes: [
      {
        kind,
        id,
        version: 1,
        body: JSON.stringify(value),
        ...Change.bare,
        created_at: now,
        updated_at: now
      }
    ]
  })

/**
 * Remembers keys for a second, in memory alone, so that a busy key is neither hashed nor looked up for each call.
 *
 * All of them are forgotten together: of the keys that are not used any more, none stays.
 */
const knownKeys = Effect.sync(() => {
  const entries = new Map<string, ApiKey>()
  let began = 0
  return {
    get: (key: string, now: number): ApiKey | undefined => {
      if (now < began || now >= began + known_for_ms) {
        entries.clear()
        began = now
      }
      return entries.get(key)
    },
    set: (key: string, apiKey: ApiKey): void => {
      if (entries.size < max_known_keys) entries.set(key, apiKey)
    }
  }
})

/** A revoked key works for at most this long. */
const known_for_ms = 1_000
const max_known_keys = 10_000
