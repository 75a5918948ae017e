import { Effect, Option } from "effect"
import type * as Change from "../storage/Change.ts"
import type { RecordPage, RecordQuery } from "../storage/Page.ts"
import { directoryWorkspace, eachPage, type Storage } from "../storage/Storage.ts"
import type { KeyId, OrganizationId } from "../wire/Ids.ts"
import * as ApiKey from "./ApiKey.ts"
import type { Environment } from "./Caller.ts"
import * as Organization from "./Organization.ts"

/*
 * Organizations and keys in storage: they must be found before the caller's workspace is known.
 */

type StorageService = Storage["Service"]

/** How many records are read at once. */
const page_size = 100

/** The stored record of a new organization. */
export const toStoredOrganization = (organization: Organization.Organization): Change.StoredRecord =>
  Organization.kind.record(organization, {
    id: organization.id,
    version: 1,
    created_at: organization.created_at,
    updated_at: organization.created_at
  })

/** The stored record of a version of a key. */
export const toStoredKey = (hash: string, version: number, key: ApiKey.ApiKey): Change.StoredRecord =>
  ApiKey.kind.record(key, {
    id: hash,
    version,
    created_at: key.created_at,
    updated_at: key.revoked_at ?? key.created_at
  })

/** The organization with this id; null if there is none. */
export const findOrganization = (storage: StorageService, id: OrganizationId) =>
  Effect.map(storage.get({ workspace_id: directoryWorkspace, kind: Organization.kind.name, id }), (stored) =>
    Option.isNone(stored) ? null : Organization.kind.value(stored.value)
  )

/** The key with this hash; null if there is none. */
export const findKey = (storage: StorageService, hash: string) =>
  Effect.map(storage.get({ workspace_id: directoryWorkspace, kind: ApiKey.kind.name, id: hash }), (stored) =>
    Option.isNone(stored) ? null : ApiKey.kind.value(stored.value)
  )

/** A key by its id, with the hash and the version under which it is stored; null if there is none. */
export const findKeyById = (storage: StorageService, id: KeyId) =>
  Effect.map(readAll(storage, { kind: ApiKey.kind.name, labels: [ApiKey.labelOf(id)] }), ([record]) =>
    record === undefined ? null : { hash: record.id, version: record.version, key: ApiKey.kind.value(record) }
  )

/** Every key of an organization, oldest first. */
export const keysOf = (storage: StorageService, organization_id: OrganizationId) =>
  Effect.map(readAll(storage, { kind: ApiKey.kind.name, parent: organization_id }), (records) =>
    records.map(ApiKey.kind.value).sort((first, second) => (first.id < second.id ? -1 : 1))
  )

/** Whether any key of this environment is valid. */
export const hasKeyIn = Effect.fnUntraced(function* (storage: StorageService, environment: Environment) {
  const query = { kind: ApiKey.kind.name, workspace_id: directoryWorkspace, order: "newest", limit: page_size } as const
  let after: string | null = null
  do {
    const { records, next }: RecordPage = yield* storage.page({ ...query, after })
    if (records.map(ApiKey.kind.value).some((key) => key.environment === environment && key.revoked_at === null))
      return true
    after = next
  } while (after !== null)
  return false
})

/** Every organization, oldest first. */
export const organizations = (storage: StorageService) =>
  Effect.map(readAll(storage, { kind: Organization.kind.name }), (records) => records.map(Organization.kind.value))

/** Reads all pages. The directory is small: people create its records by hand. */
const readAll = Effect.fnUntraced(function* (
  storage: StorageService,
  query: Pick<RecordQuery, "kind" | "parent" | "labels">
) {
  const records: Array<Change.StoredRecord> = []
  yield* eachPage(storage, { ...query, workspace_id: directoryWorkspace, order: "oldest", limit: page_size }, (page) =>
    Effect.sync(() => void records.push(...page))
  )
  return records
})
