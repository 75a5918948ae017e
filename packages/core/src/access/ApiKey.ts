import { Effect, Schema } from "effect"
import type * as Change from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { RecordPage, RecordQuery } from "../storage/Page.ts"
import { directoryWorkspace, readAll, readOne, type Storage } from "../storage/Storage.ts"
import { KeyId, OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { textUpTo } from "../wire/Input.ts"
import { Environment, KeyKind } from "./Caller.ts"
import * as ChecksummedSecret from "./ChecksummedSecret.ts"

/*
 * The directory contains organizations and their API keys. A host looks them up before it knows the caller's workspace.
 */

/** An API key as stored. The key itself is never stored, only its SHA-256 hash, which is the record's ID. */
export const ApiKey = Schema.Struct({
  id: KeyId,
  organization_id: OrganizationId,
  workspace_id: WorkspaceId,
  environment: Environment,
  kind: KeyKind,
  created_at: Schema.Int,
  revoked_at: Schema.NullOr(Schema.Int)
})
export type ApiKey = typeof ApiKey.Type

/** The record kind for API keys, keyed by the key's hash. Lists can also find a key by its organization or ID. */
export const keyKind = Kind.make({
  name: "api_key",
  schema: ApiKey,
  survives_reset: true,
  listing: ({ id, organization_id }) => ({ parent: organization_id, labels: [labelOf(id)] })
})

/** The label that finds the key with this ID in a list. */
export const labelOf = (id: KeyId): string => `key:${id}`

/** How many random bytes `write` needs. */
export const randomBytes: number = ChecksummedSecret.randomBytes

/** Writes a key: `<environment>_<kind>_<secret><checksum>`. */
export const write = (environment: Environment, kind: KeyKind, random: Uint8Array): string =>
  ChecksummedSecret.write(`${environment}_${kind}`, random)

/** Whether text has the format and the checksum of a key. The key may still not exist. */
export const isWellFormed: (text: string) => boolean = ChecksummedSecret.wellFormed(
  ...Environment.literals.flatMap((environment) => KeyKind.literals.map((kind) => `${environment}_${kind}`))
)

/** The name of a new organization: 1 to 200 characters, not all of them blank. */
export const OrganizationName: Schema.String = textUpTo(200, 1).check(
  Schema.isPattern(/\S/u, { expected: "non-blank text" })
)

/** An organization: one partner, with a workspace in each environment. */
export const Organization = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  workspaces: Schema.Struct({ sandbox: WorkspaceId, live: WorkspaceId })
})
export type Organization = typeof Organization.Type

/** The record kind for organizations, keyed by ID. */
export const organizationKind = Kind.make({ name: "organization", schema: Organization, survives_reset: true })

type StorageService = Storage["Service"]

/** The number of records on a page. */
const pageSize = 100

/** The stored record of a new organization. */
export const toStoredOrganization = (organization: Organization): Change.StoredRecord =>
  organizationKind.record(organization, {
    id: organization.id,
    version: 1,
    created_at: organization.created_at,
    updated_at: organization.created_at
  })

/** The stored record of a key, in the given version. */
export const toStoredKey = (hash: string, version: number, key: ApiKey): Change.StoredRecord =>
  keyKind.record(key, {
    id: hash,
    version,
    created_at: key.created_at,
    updated_at: key.revoked_at ?? key.created_at
  })

/** The organization with this ID; null if it does not exist. */
export const findOrganization = (storage: StorageService, id: OrganizationId) =>
  readOne(storage, organizationKind, directoryWorkspace, id)

/** The key with this ID, and the hash and version under which the key is stored; null if the key does not exist. */
export const findKeyById = (storage: StorageService, id: KeyId) =>
  Effect.map(list(storage, { kind: keyKind.name, labels: [labelOf(id)] }), ([record]) =>
    record === undefined ? null : { hash: record.id, version: record.version, key: keyKind.value(record) }
  )

/** All keys of an organization, oldest first. */
export const keysOf = (storage: StorageService, organizationId: OrganizationId) =>
  Effect.map(list(storage, { kind: keyKind.name, parent: organizationId }), (records) =>
    records.map(keyKind.value).sort((a, b) => (a.id < b.id ? -1 : 1))
  )

/** Whether any key of this environment is valid. */
export const hasKeyIn = Effect.fnUntraced(function* (storage: StorageService, environment: Environment) {
  const query = {
    kind: keyKind.name,
    workspace_id: directoryWorkspace,
    order: "newest",
    limit: pageSize
  } as const
  let after: string | null = null
  do {
    const { records, next }: RecordPage = yield* storage.page({ ...query, after })
    if (records.map(keyKind.value).some((key) => key.environment === environment && key.revoked_at === null))
      return true
    after = next
  } while (after !== null)
  return false
})

/** All organizations, oldest first. */
export const organizations = (storage: StorageService) =>
  Effect.map(list(storage, { kind: organizationKind.name }), (records) => records.map(organizationKind.value))

/** Lists the directory's records, oldest first. The lists are short, because people create these records by hand. */
const list = (storage: StorageService, query: Pick<RecordQuery, "kind" | "parent" | "labels">) =>
  readAll(storage, { ...query, workspace_id: directoryWorkspace, order: "oldest", limit: pageSize })
