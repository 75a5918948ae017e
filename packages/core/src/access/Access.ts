import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import { directory, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, type KeyId, type OrganizationId, type WorkspaceId } from "../wire/Ids.ts"
import { type ApiKey, isWellFormed, random_bytes, write } from "./ApiKey.ts"
import type { Caller, Environment, KeyKind } from "./Caller.ts"
import * as Directory from "./Directory.ts"
import { KnownKeys } from "./KnownKeys.ts"
import type { Organization } from "./Organization.ts"
import { Seal } from "./Seal.ts"
import * as Workspace from "./Workspace.ts"
import { changeOf } from "./Workspaces.ts"

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
    /** Every organization, oldest first. */
    readonly listOrganizations: Effect.Effect<ReadonlyArray<Organization>, StorageUnavailable>
    /** The keys of an organization, oldest first, the revoked ones too; what is known of a key never holds the key. */
    readonly listKeys: (
      organization_id: OrganizationId
    ) => Effect.Effect<ReadonlyArray<ApiKey>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Whether a key of this environment is in force, whoever's it is. */
    readonly hasKeyIn: (environment: Environment) => Effect.Effect<boolean, StorageUnavailable>
    /**
     * Revokes a key: from now on it is refused here, and within a second by all other hosts. A second time answers what
     * the first one did.
     */
    readonly revokeKey: (key_id: KeyId) => Effect.Effect<ApiKey, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Whether a key was sent that this host has not found good of late: it has to be looked up, and may be a guess. */
    readonly isStranger: (credentials: Credentials) => boolean
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
      const clock = yield* Clock.Clock
      const known = new KnownKeys()
      // New identifiers cannot be taken.
      const add = (change: Change.Change) =>
        Effect.catchTag(commit(storage, change), "VersionConflict", (conflict) => Effect.die(conflict))

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
            add(changeOf(Workspace.create(organization.workspaces[environment], organization.id, environment, now))),
          { discard: true }
        )
        yield* add(Change.make(directory, { writes: [Directory.toStoredOrganization(organization)] }))
        return organization
      })

      const findOrganization = Effect.fnUntraced(function* (id: OrganizationId) {
        const organization = yield* Directory.findOrganization(storage, id)
        return organization === null ? yield* ApiError.make("not_found") : organization
      })

      const createKey = Effect.fn("Access.createKey")(function* (options: {
        readonly organization_id: OrganizationId
        readonly environment: Environment
        readonly kind: KeyKind
        readonly key?: string
      }) {
        const organization = yield* findOrganization(options.organization_id)
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
        yield* add(Change.make(directory, { writes: [Directory.toStoredKey(yield* seal.hash(key), 1, apiKey)] }))
        return { key_id: apiKey.id, key }
      })

      const listKeys = Effect.fn("Access.listKeys")(function* (organization_id: OrganizationId) {
        const { id } = yield* findOrganization(organization_id)
        return yield* Directory.keysOf(storage, id)
      })

      const revokeKey = Effect.fn("Access.revokeKey")(function* (key_id: KeyId) {
        const found = yield* Directory.findKeyById(storage, key_id)
        if (found === null) return yield* ApiError.make("not_found")
        if (found.key.revoked_at !== null) return found.key
        const revoked: ApiKey = { ...found.key, revoked_at: yield* Clock.currentTimeMillis }
        const writes = [Directory.toStoredKey(found.hash, found.version + 1, revoked)]
        yield* commit(storage, Change.make(directory, { writes }))
        known.forget(key_id)
        return revoked
      })

      return Access.of({
        createOrganization,
        createKey,
        listOrganizations: Directory.organizations(storage),
        listKeys,
        hasKeyIn: (environment) => Directory.hasKeyIn(storage, environment),
        revokeKey: (key_id) => retryOnConflict(revokeKey(key_id)),
        isStranger: ({ key }) => key !== null && !known.hasMet(key, clock.currentTimeMillisUnsafe()),
        authenticate: authenticating(storage, seal, clock, known)
      })
    })
  )
}

/** Tells who calls by what the directory knows of a key. */
const authenticating = (storage: Storage["Service"], seal: Seal["Service"], clock: Clock.Clock, known: KnownKeys) => {
  const find = Effect.fnUntraced(function* (key: string) {
    if (!isWellFormed(key)) return yield* refused
    const { reading } = known
    const apiKey = yield* Directory.findKey(storage, yield* seal.hash(key))
    if (apiKey === null || apiKey.revoked_at !== null) {
      known.unmeet(key)
      return yield* refused
    }
    const caller = callerOf(apiKey)
    known.set(key, caller, reading)
    return caller
  })

  return ({ key, keyless, read_handle }: Credentials) => {
    if (key === null) return keyless ? keylessCaller(read_handle) : refused
    const remembered = known.get(key, clock.currentTimeMillisUnsafe())
    return remembered === undefined
      ? Effect.map(find(key), (caller) => withHandle(caller, read_handle))
      : Effect.succeed(withHandle(remembered, read_handle))
  }
}

const refused = Effect.fail(ApiError.make("authentication_failed"))

const callerOf = (apiKey: ApiKey): Caller => {
  const { id: key_id, kind, environment, organization_id, workspace_id } = apiKey
  return { kind, environment, organization_id, workspace_id, key_id, read_handle: null }
}

/** Calls without a handle share their caller: the request log holds on to it. */
const withHandle = (caller: Caller, read_handle: string | null): Caller =>
  read_handle === null ? caller : { ...caller, read_handle }

const keylessCaller = (read_handle: string | null) =>
  Effect.flatMap(
    KeylessWorkspace,
    (workspace): Effect.Effect<Caller, ApiError.ApiError<"authentication_failed">> =>
      workspace === null ? refused : Effect.succeed({ ...workspace, kind: "keyless", key_id: null, read_handle })
  )
