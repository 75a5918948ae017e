import { Effect, Option } from "effect"
import * as Change from "../storage/Change.ts"
import { eachPage } from "../storage/eachPage.ts"
import type { RecordPage, RecordQuery } from "../storage/Page.ts"
import { directory, type Storage } from "../storage/Storage.ts"
import type { KeyId, OrganizationId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import type { ApiKey } from "./ApiKey.ts"
import type { Environment } from "./Caller.ts"
import type { Organization } from "./Organization.ts"

/*
 * Organizations and keys as they are stored: what must be found before a caller's workspace is known.
 */

type StorageService = Storage["Service"]

/** How many records are read at once. */
const page_size = 100

/** An organization that was just made. */
export const toStoredOrganization = (organization: Organization): Change.StoredRecord =>
  Change.record({
    kind: "organization",
    id: organization.id,
    version: 1,
    body: JSON.stringify(organization),
    created_at: organization.created_at,
    updated_at: organization.created_at
  })

/** A version of a key; it is found by its hash, by its organization, and by its own id. */
export const toStoredKey = (hash: string, version: number, key: ApiKey): Change.StoredRecord =>
  Change.record({
    kind: "api_key",
    id: hash,
    version,
    body: JSON.stringify(key),
    parent: key.organization_id,
    labels: [labelOf(key.id)],
    created_at: key.created_at,
    updated_at: key.revoked_at ?? key.created_at
  })

const labelOf = (id: KeyId): string => `key:${id}`

const organizationOf = (record: Change.StoredRecord): Organization => Json.decode(Json.fromText(record.body))
const keyOf = (record: Change.StoredRecord): ApiKey => Json.decode(Json.fromText(record.body))

/** The organization of this id; null where there is none. */
export const findOrganization = (storage: StorageService, id: OrganizationId) =>
  Effect.map(storage.get({ workspace_id: directory, kind: "organization", id }), (stored) =>
    Option.isNone(stored) ? null : organizationOf(stored.value)
  )

/** The key of this hash; null where there is none. */
export const findKey = (storage: StorageService, hash: string) =>
  Effect.map(storage.get({ workspace_id: directory, kind: "api_key", id: hash }), (stored) =>
    Option.isNone(stored) ? null : keyOf(stored.value)
  )

/** A key with the hash and the version under which it is stored, by its id; null where there is none. */
export const findKeyById = (storage: StorageService, id: KeyId) =>
  Effect.map(readAll(storage, { kind: "api_key", labels: [labelOf(id)] }), ([record]) =>
    record === undefined ? null : { hash: record.id, version: record.version, key: keyOf(record) }
  )

/** Every key of an organization, oldest first. */
export const keysOf = (storage: StorageService, organization_id: OrganizationId) =>
  Effect.map(readAll(storage, { kind: "api_key", parent: organization_id }), (records) =>
    records.map(keyOf).sort((first, second) => (first.id < second.id ? -1 : 1))
  )

/** Whether a key of this environment is in force. */
export const hasKeyIn = Effect.fnUntraced(function* (storage: StorageService, environment: Environment) {
  const query = { kind: "api_key", workspace_id: directory, order: "newest", limit: page_size } as const
  let after: string | null = null
  do {
    const { records, next }: RecordPage = yield* storage.page({ ...query, after })
    if (records.map(keyOf).some((key) => key.environment === environment && key.revoked_at === null)) return true
    after = next
  } while (after !== null)
  return false
})

/** Every organization, oldest first. */
export const organizations = (storage: StorageService) =>
  Effect.map(readAll(storage, { kind: "organization" }), (records) => records.map(organizationOf))

/** Reads every page: the directory holds what people made by hand. */
const readAll = Effect.fnUntraced(function* (
  storage: StorageService,
  query: Pick<RecordQuery, "kind" | "parent" | "labels">
) {
  const records: Array<Change.StoredRecord> = []
  yield* eachPage(storage, { ...query, workspace_id: directory, order: "oldest", limit: page_size }, (page) =>
    Effect.sync(() => void records.push(...page))
  )
  return records
})
