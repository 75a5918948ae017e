import { Effect, Schema } from "effect"
import { Access } from "../access/Access.ts"
import * as ApiKey from "../access/ApiKey.ts"
import { Environment, KeyKind } from "../access/Caller.ts"
import { CarrierAdapters, environmentsOf } from "../carriers/Carrier.ts"
import * as ApiError from "../wire/ApiError.ts"
import { KeyId, OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { Nothing } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"
import * as OperatorOperation from "./OperatorOperation.ts"
import type { Operator } from "./OperatorToken.ts"

const tag = "Organizations"

const Organization = Schema.Struct({
  id: OrganizationId.annotateKey({ description: "The identifier of the organization" }),
  name: Schema.String.annotateKey({ description: "Its name" }),
  created_at: Timestamp.annotate({ description: "When it was created" }),
  workspaces: Schema.Struct({
    sandbox: WorkspaceId.annotateKey({ description: "The workspace of the sandbox" }),
    live: WorkspaceId.annotateKey({ description: "The workspace of the live environment" })
  }).annotateKey({ description: "Its workspaces" })
}).annotate({ identifier: "Organization" })

const viewOf = ({ created_at, ...organization }: ApiKey.Organization): typeof Organization.Type => ({
  ...organization,
  created_at: fromMillis(created_at)
})

/** Lists the organizations. */
export const listOrganizations = OperatorOperation.make({
  name: "list_organizations",
  summary: "List the organizations",
  description: "Every organization that the token reaches, oldest first.",
  tag,
  route: { method: "GET", path: "/operator/v1/organizations", query: {}, status: 200 },
  scope: "read",
  reach: "organization",
  input: Nothing,
  output: Schema.Struct({
    organizations: Schema.Array(Organization).annotateKey({ description: "The organizations, oldest first" })
  }),
  errors: [],
  run: Effect.fnUntraced(function* ({ organization_id }) {
    const organizations = yield* (yield* Access).listOrganizations
    const reached = organizations.filter(({ id }) => organization_id === null || id === organization_id)
    return Json.encode({ organizations: reached.map(viewOf) })
  })
})

/** Creates an organization. */
export const createOrganization = OperatorOperation.make({
  name: "create_organization",
  summary: "Create an organization",
  description: "Creates an organization with a sandbox and a live workspace. Repeating the call makes another one.",
  tag,
  route: { method: "POST", path: "/operator/v1/organizations", query: {}, status: 201 },
  scope: "write",
  reach: "deployment",
  input: Schema.Struct({
    name: ApiKey.OrganizationName.annotateKey({ description: "Its name, 1 to 200 characters" })
  }),
  output: Organization,
  errors: [],
  about: (_, answer) => ({ organization_id: answer?.id ?? null }),
  run: (_, { name }) =>
    Access.use((access) =>
      Effect.map(access.createOrganization(name), (organization) => Json.encode(viewOf(organization)))
    )
})

const keyFields = {
  organization_id: OrganizationId.annotateKey({ description: "The organization, `org_…`" }),
  environment: Environment.annotateKey({ description: "The environment of the key" }),
  kind: KeyKind.annotateKey({ description: "The kind of key" })
}

const Key = Schema.Struct({
  id: KeyId.annotateKey({ description: "The identifier of the key, never the key" }),
  ...keyFields,
  workspace_id: WorkspaceId.annotateKey({ description: "The workspace that it acts in" }),
  created_at: Timestamp.annotate({ description: "When it was created" }),
  revoked_at: Schema.NullOr(Timestamp).annotateKey({ description: "When it was revoked; null while it is valid" })
}).annotate({ identifier: "Key" })

const keyViewOf = ({ created_at, revoked_at, ...key }: ApiKey.ApiKey): typeof Key.Type => ({
  ...key,
  created_at: fromMillis(created_at),
  revoked_at: revoked_at === null ? null : fromMillis(revoked_at)
})

/** Lists the keys of an organization. */
export const listKeys = OperatorOperation.make({
  name: "list_keys",
  summary: "List the keys of an organization",
  description: "The metadata of each key, oldest first, including revoked ones. Keys themselves are never shown again.",
  tag,
  route: { method: "GET", path: "/operator/v1/organizations/{organization_id}/keys", query: {}, status: 200 },
  scope: "read",
  reach: "organization",
  input: Schema.Struct({ organization_id: keyFields.organization_id }),
  output: Schema.Struct({ keys: Schema.Array(Key).annotateKey({ description: "The keys, oldest first" }) }),
  errors: ["not_found"],
  run: (_, { organization_id }) =>
    Access.use((access) =>
      Effect.map(access.listKeys(organization_id), (keys) => Json.encode({ keys: keys.map(keyViewOf) }))
    )
})

const CreatedKey = Schema.Struct({
  key_id: KeyId.annotateKey({ description: "The identifier of the key" }),
  key: Schema.String.annotate({ description: "The key. It is shown only here" }),
  warnings: Schema.Array(Schema.String).annotateKey({
    description: "What to know before it is used, such as that the environment has no carriers"
  })
}).annotate({ identifier: "CreatedKey" })

/** Creates a key. */
export const createKey = OperatorOperation.make({
  name: "create_key",
  summary: "Create a key",
  description: "Creates a key and shows it once. Repeating the call makes another one.",
  tag,
  route: { method: "POST", path: "/operator/v1/organizations/{organization_id}/keys", query: {}, status: 201 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct(keyFields),
  output: CreatedKey,
  errors: ["not_found"],
  about: (_, answer) => ({ resource: answer?.key_id ?? null }),
  run: Effect.fnUntraced(function* (_, input) {
    const issued = yield* (yield* Access).createKey(input)
    const environments = environmentsOf(yield* CarrierAdapters)
    return Json.encode({ ...issued, warnings: keyWarnings(input.environment, environments) })
  })
})

/**
 * The warnings for the person who creates a key. If no carrier is available in the key's environment, requests with the
 * key get no quotes.
 */
export const keyWarnings = (
  environment: Environment,
  environments: ReadonlyArray<Environment>
): ReadonlyArray<string> =>
  environments.includes(environment)
    ? []
    : [
        `This program has no ${environment} carriers: quote requests with this key end without quotes, unless another program with its own carriers serves the same storage.`
      ]

/** Revokes a key. */
export const revokeKey = OperatorOperation.make({
  name: "revoke_key",
  summary: "Revoke a key",
  description: "Every host refuses the key within a second. A second call returns the same response.",
  tag,
  route: { method: "POST", path: "/operator/v1/keys/{id}/revoke", query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({ id: KeyId.annotateKey({ description: "The key, `key_…`" }) }),
  output: Key,
  errors: ["not_found"],
  about: (_, answer) => (answer === null ? {} : { organization_id: answer.organization_id, resource: answer.id }),
  run: Effect.fnUntraced(function* (operator, { id }) {
    const access = yield* Access
    yield* requireOwnKey(operator, id)
    return Json.encode(keyViewOf(yield* access.revokeKey(id)))
  })
})

/**
 * Fails with `not_found` if the operator's token is for one organization, and the key belongs to another organization.
 */
const requireOwnKey = Effect.fnUntraced(function* ({ organization_id }: Operator, id: KeyId) {
  if (organization_id === null) return
  const keys = yield* (yield* Access).listKeys(organization_id)
  if (!keys.some((key) => key.id === id)) return yield* ApiError.make("not_found")
})
