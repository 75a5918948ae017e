import { Clock, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Change from "../storage/Change.ts"
import {
  commit,
  directoryWorkspace,
  readOne,
  retryOnConflict,
  Storage,
  type StorageUnavailable
} from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { Ids, KeyId, type OrganizationId, type WorkspaceId } from "../wire/Ids.ts"
import * as ApiKey from "./ApiKey.ts"
import type { Caller, Environment, Grant, KeyKind } from "./Caller.ts"
import { KnownKeys, readClock } from "./KnownKeys.ts"
import * as PartnerLink from "./PartnerLink.ts"
import { Seal } from "./sealing/Seal.ts"
import * as Workspaces from "./Workspaces.ts"

/** The credentials of a call. */
export interface Credentials {
  /** The API key as sent; null if the call has no `Authorization` header. */
  readonly key: string | null
  /** The read handle; null if the call has no read handle. */
  readonly read_handle: string | null
  /** The client's network address, for the limits on keyless callers and on refused keys. */
  readonly address: string
  /** Whether the endpoint that received the call admits callers without a key. Only the agent endpoint does. */
  readonly keyless: boolean
  /** The caller, if the host has already identified the caller by a token; `key` is then ignored. */
  readonly identified?: Caller
}

/** A new key. The key cannot be shown again later. */
export interface IssuedKey {
  readonly key_id: KeyId
  readonly key: string
}

/** The workspace of callers without a key; null if the host does not admit them. */
export const KeylessWorkspace = Context.Reference<{
  readonly organization_id: OrganizationId
  readonly workspace_id: WorkspaceId
  readonly environment: Environment
} | null>("@quotewire/core/KeylessWorkspace", { defaultValue: () => null })

/** Creates organizations and keys, and authenticates callers. */
export class Access extends Context.Service<
  Access,
  {
    /** Creates an organization with a sandbox and a live workspace. */
    readonly createOrganization: (name: string) => Effect.Effect<ApiKey.Organization, StorageUnavailable>
    /**
     * Creates a key. Fails with `not_found` if the organization does not exist.
     *
     * By default the key is generated. Pass `key` to choose it, for example if the storage lives only as long as the
     * process.
     */
    readonly createKey: (options: {
      readonly organization_id: OrganizationId
      readonly environment: Environment
      readonly kind: KeyKind
      readonly key?: string
    }) => Effect.Effect<IssuedKey, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Lists every organization, oldest first. */
    readonly listOrganizations: Effect.Effect<ReadonlyArray<ApiKey.Organization>, StorageUnavailable>
    /**
     * Lists an organization's keys, oldest first, including revoked keys. The list contains metadata, never the keys
     * themselves.
     */
    readonly listKeys: (
      organization_id: OrganizationId
    ) => Effect.Effect<ReadonlyArray<ApiKey.ApiKey>, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /** Whether any organization has a valid key in this environment. */
    readonly hasKeyIn: (environment: Environment) => Effect.Effect<boolean, StorageUnavailable>
    /**
     * Revokes a key. This host refuses the key immediately, and all other hosts refuse it within a second. Revoking a
     * key a second time changes nothing.
     */
    readonly revokeKey: (
      key_id: KeyId
    ) => Effect.Effect<ApiKey.ApiKey, ApiError.ApiError<"not_found"> | StorageUnavailable>
    /**
     * Returns the caller that a verified token stands for; fails with `forbidden` if the organization does not exist.
     *
     * The caller's `key_id` is a hash of the organization and the token's subject. Limits and the request log therefore
     * treat each subject like a key.
     */
    readonly admit: (grant: Grant) => Effect.Effect<Caller, ApiError.ApiError<"forbidden"> | StorageUnavailable>
    /** Whether the key could be a guess: this host has not recently found it valid, so the key must be looked up. */
    readonly mayBeGuessed: (credentials: Credentials) => boolean
    /**
     * Identifies the caller. Fails with `authentication_failed` if the key is missing, mistyped, unknown or revoked.
     */
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
      const clock = yield* Clock.Clock
      const knownKeys = new KnownKeys()
      const { createKey, listKeys, revokeKey } = yield* makeKeys(knownKeys)
      return Access.of({
        createOrganization: yield* makeCreateOrganization,
        createKey,
        listOrganizations: ApiKey.organizations(storage),
        listKeys,
        hasKeyIn: (environment) => ApiKey.hasKeyIn(storage, environment),
        revokeKey: (keyId) => retryOnConflict(revokeKey(keyId)),
        admit: makeAdmitGrant(storage, seal),
        mayBeGuessed: makeIsGuess(clock, knownKeys),
        authenticate: makeAuthenticate(storage, seal, clock, knownKeys)
      })
    })
  )
}

const makeCreateOrganization = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  return Effect.fn("Access.createOrganization")(function* (name: string) {
    const now = yield* Clock.currentTimeMillis
    const organization: ApiKey.Organization = {
      id: ids.organization(),
      name,
      created_at: now,
      workspaces: { sandbox: ids.workspace(), live: ids.workspace() }
    }
    // Workspaces are created first, so that an organization never exists without them.
    yield* Effect.forEach(
      ["sandbox", "live"] as const,
      (environment) =>
        addTo(
          storage,
          Workspaces.changeOf(
            Workspaces.create(organization.workspaces[environment], organization.id, environment, now)
          )
        ),
      { discard: true }
    )
    yield* addTo(storage, Change.make(directoryWorkspace, { writes: [ApiKey.toStoredOrganization(organization)] }))
    return organization
  })
})

/** Creates, lists and revokes keys. Revoking a key also drops it from `knownKeys`. */
const makeKeys = Effect.fnUntraced(function* (knownKeys: KnownKeys) {
  const storage = yield* Storage
  const seal = yield* Seal
  const ids = yield* Ids
  const random = yield* SecureRandom.SecureRandom

  const findOrganization = Effect.fnUntraced(function* (id: OrganizationId) {
    const organization = yield* ApiKey.findOrganization(storage, id)
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
    const key = options.key ?? (yield* generateKey(random, options))
    const apiKey: ApiKey.ApiKey = {
      id: ids.key(),
      organization_id: organization.id,
      workspace_id: organization.workspaces[options.environment],
      environment: options.environment,
      kind: options.kind,
      created_at: now,
      revoked_at: null
    }
    yield* addTo(
      storage,
      Change.make(directoryWorkspace, { writes: [ApiKey.toStoredKey(yield* seal.hash(key), 1, apiKey)] })
    )
    return { key_id: apiKey.id, key }
  })

  const listKeys = Effect.fn("Access.listKeys")(function* (organizationId: OrganizationId) {
    const { id } = yield* findOrganization(organizationId)
    return yield* ApiKey.keysOf(storage, id)
  })

  const revokeKey = Effect.fn("Access.revokeKey")(function* (keyId: KeyId) {
    const storedKey = yield* ApiKey.findKeyById(storage, keyId)
    if (storedKey === null) return yield* ApiError.make("not_found")
    if (storedKey.key.revoked_at !== null) return storedKey.key
    const revoked: ApiKey.ApiKey = { ...storedKey.key, revoked_at: yield* Clock.currentTimeMillis }
    const writes = [ApiKey.toStoredKey(storedKey.hash, storedKey.version + 1, revoked)]
    yield* commit(storage, Change.make(directoryWorkspace, { writes }))
    knownKeys.revoke(keyId)
    return revoked
  })

  return { createKey, listKeys, revokeKey }
})

/** Commits new records. Their IDs are also new, so the change cannot conflict. */
const addTo = (storage: Storage["Service"], change: Change.Change) =>
  Effect.catchTag(commit(storage, change), "VersionConflict", (conflict) => Effect.die(conflict))

/** Whether a call's key must be looked up and could be a guess. */
const makeIsGuess =
  (clock: Clock.Clock, knownKeys: KnownKeys) =>
  ({ identified, key }: Credentials): boolean =>
    key !== null && identified === undefined && !knownKeys.wasValidRecently(key, clock.currentTimeMillisUnsafe())

const makeAuthenticate = (
  storage: Storage["Service"],
  seal: Seal["Service"],
  clock: Clock.Clock,
  knownKeys: KnownKeys
) => {
  const find = Effect.fnUntraced(function* (key: string) {
    const { generation } = knownKeys
    const at = readClock(clock)
    const apiKey = yield* readOne(storage, ApiKey.keyKind, directoryWorkspace, yield* seal.hash(key))
    if (apiKey === null || apiKey.revoked_at !== null) {
      knownKeys.drop(key)
      return yield* refused
    }
    const caller = callerOf(apiKey)
    knownKeys.add(key, caller, at, generation)
    return caller
  })

  const link = makeIdentifyByLink(storage, seal, clock)

  return ({ identified, key, keyless, read_handle }: Credentials) => {
    if (identified !== undefined) return Effect.succeed(withHandle(identified, read_handle))
    if (key === null) return keyless ? keylessCaller(read_handle) : refused
    const cached = knownKeys.callerOf(key, readClock(clock))
    if (cached !== null) return Effect.succeed(withHandle(cached, read_handle))
    if (knownKeys.has(key) || ApiKey.isWellFormed(key)) {
      return Effect.map(find(key), (caller) => withHandle(caller, read_handle))
    }
    return PartnerLink.isLike(key) ? link(key) : refused
  }
}

/**
 * Identifies callers by their partner links. A link has the same limits as a keyless caller, so that its holder cannot
 * use up the organization's limits.
 */
const makeIdentifyByLink = (storage: Storage["Service"], seal: Seal["Service"], clock: Clock.Clock) =>
  Effect.fnUntraced(function* (token: string) {
    const link = yield* PartnerLink.read(seal, token)
    if (link === null || PartnerLink.hasEnded(link, clock.currentTimeMillisUnsafe())) return yield* refused
    const { made_by, shared_id, workspace_id } = link
    const workspace = yield* readOne(storage, Workspaces.kind, workspace_id, workspace_id)
    const maker = made_by === null ? null : yield* ApiKey.findKeyById(storage, made_by)
    if (workspace === null || (maker !== null && maker.key.revoked_at !== null)) return yield* refused
    const { environment, organization_id } = workspace
    const caller: Caller = {
      kind: "link",
      environment,
      organization_id,
      workspace_id,
      key_id: null,
      read_handle: null,
      shared_id
    }
    return caller
  })

/** Turns a grant into its caller, if the organization is in the directory. */
const makeAdmitGrant = (storage: Storage["Service"], seal: Seal["Service"]) =>
  Effect.fn("Access.admit")(function* ({ environment, kind, organization_id, subject }: Grant) {
    const organization = yield* ApiKey.findOrganization(storage, organization_id)
    if (organization === null) return yield* ApiError.make("forbidden", { message: unknownOrganization })
    const hash = yield* seal.hash(JSON.stringify([organization_id, subject]))
    const caller: Caller = {
      kind,
      environment,
      organization_id,
      workspace_id: organization.workspaces[environment],
      key_id: KeyId.make(`key_${hash.slice(0, idCharacters)}`),
      read_handle: null
    }
    return caller
  })

const unknownOrganization = "The access token names an organization that this service does not have."

/**
 * The length of an identifier without its prefix. Hexadecimal digits are valid identifier characters, so the start of a
 * hash can serve as an identifier.
 */
const idCharacters = 26

/** Generates a new key. */
const generateKey = (
  random: SecureRandom.SecureRandom["Service"],
  { environment, kind }: { readonly environment: Environment; readonly kind: KeyKind }
) => Effect.map(random.randomBytes(ApiKey.randomBytes), (bytes) => ApiKey.write(environment, kind, bytes))

const refused = Effect.fail(ApiError.make("authentication_failed"))

const callerOf = (apiKey: ApiKey.ApiKey): Caller => {
  const { id: key_id, kind, environment, organization_id, workspace_id } = apiKey
  return { kind, environment, organization_id, workspace_id, key_id, read_handle: null }
}

/** Without a read handle, returns the same object: the request log keeps a reference to each call's caller. */
const withHandle = (caller: Caller, read_handle: string | null): Caller =>
  read_handle === null ? caller : { ...caller, read_handle }

const keylessCaller = (read_handle: string | null) =>
  Effect.flatMap(
    KeylessWorkspace,
    (workspace): Effect.Effect<Caller, ApiError.ApiError<"authentication_failed">> =>
      workspace === null ? refused : Effect.succeed({ ...workspace, kind: "keyless", key_id: null, read_handle })
  )
