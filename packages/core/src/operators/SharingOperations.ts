import { Effect, Schema } from "effect"
import { Access } from "../access/Access.ts"
import { Environment } from "../access/Caller.ts"
import { linkFields, makeLink, NewLink } from "../partners/PartnerLinkOperations.ts"
import * as ApiError from "../wire/ApiError.ts"
import { OrganizationId } from "../wire/Ids.ts"
import * as OperatorOperation from "./OperatorOperation.ts"

/** Creates a partner link for one of an organization's resources. */
export const createLink = OperatorOperation.make({
  name: "create_partner_link",
  summary: "Create a partner link",
  description:
    "A token that reads one quote request or one event subscription of an organization until it expires. It needs the write scope, because it lets others read.",
  tag: "Partner links",
  route: {
    method: "POST",
    path: "/operator/v1/organizations/{organization_id}/{environment}/partner-links",
    query: {},
    status: 201
  },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({
    organization_id: OrganizationId.annotateKey({ description: "The organization, `org_…`" }),
    environment: Environment.annotateKey({ description: "The environment of what the link shows" }),
    ...linkFields
  }),
  output: NewLink,
  errors: ["not_found"],
  about: ({ shared_id }) => ({ quote_request_id: shared_id, resource: shared_id }),
  run: Effect.fnUntraced(function* (_, { environment, organization_id, ...input }) {
    const organizations = yield* (yield* Access).listOrganizations
    const organization = organizations.find(({ id }) => id === organization_id)
    if (organization === undefined) return yield* ApiError.make("not_found")
    return yield* makeLink({ workspace_id: organization.workspaces[environment], made_by: null }, input)
  })
})
