import { Effect, Schema } from "effect"
import { Access } from "../access/Access.ts"
import { Environment } from "../access/Caller.ts"
import { Workspaces } from "../access/Workspaces.ts"
import { Recoveries } from "../webhooks/deliveries/Recoveries.ts"
import { recoveryActions } from "../webhooks/deliveries/Recovery.ts"
import {
  previewOf,
  RecoveryList,
  RecoveryPreviewView,
  RecoveryView,
  recoveryFields,
  recoveryViewOf,
  requestOf
} from "../webhooks/deliveries/RecoveryViews.ts"
import * as ApiError from "../wire/ApiError.ts"
import { OrganizationId, RecoveryId, SubscriptionId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import * as OperatorOperation from "./OperatorOperation.ts"

const tag = "Recoveries"

const placeFields = {
  organization_id: OrganizationId.annotateKey({ description: "The organization, `org_…`" }),
  environment: Environment.annotateKey({ description: "The environment of the subscription" }),
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription, `sub_…`" })
}

type RecoveryPlace = Schema.Struct.Type<typeof placeFields>

const path = "/operator/v1/organizations/{organization_id}/{environment}/subscriptions/{subscription_id}/recoveries"

/**
 * The workspace in which a subscription lives, and its current time. Fails with `not_found` if the organization does
 * not exist.
 */
const momentOf = Effect.fnUntraced(function* ({ environment, organization_id }: RecoveryPlace) {
  const organizations = yield* (yield* Access).listOrganizations
  const organization = organizations.find(({ id }) => id === organization_id)
  if (organization === undefined) return yield* ApiError.make("not_found")
  return yield* (yield* Workspaces).moment(organization.workspaces[environment])
})

/** Counts the deliveries that a recovery would resend. */
export const previewRecovery = OperatorOperation.make({
  name: "preview_recovery",
  summary: "Count the deliveries that a recovery would send again",
  description:
    "Counts the deliveries of a subscription that match, and says how long sending them takes at the given rate. It changes nothing.",
  tag,
  route: { method: "POST", path: `${path}/preview`, query: {}, status: 200 },
  scope: "read",
  reach: "organization",
  input: Schema.Struct({ ...placeFields, ...recoveryFields }),
  output: RecoveryPreviewView,
  errors: ["not_found"],
  run: Effect.fnUntraced(function* (_, input) {
    const { now, workspace } = yield* momentOf(input)
    const request = requestOf(input.subscription_id, input, now)
    const preview = yield* (yield* Recoveries).preview(workspace.id, request)
    return Json.encode(previewOf(preview, request))
  })
})

/** Starts a recovery, which resends many of a subscription's deliveries. */
export const startRecovery = OperatorOperation.make({
  name: "start_recovery",
  summary: "Send deliveries of a subscription again",
  description:
    "Sends the matching deliveries again, in event order and at the given rate, for example after an endpoint was down. A subscription has one recovery at a time. It is paused automatically if the subscription is turned off.",
  tag,
  route: { method: "POST", path, query: {}, status: 201 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({ ...placeFields, ...recoveryFields }),
  output: RecoveryView,
  errors: ["not_found", "conflict"],
  about: (_, answer) => ({ resource: answer?.id ?? null }),
  run: Effect.fnUntraced(function* (_, input) {
    const { now, workspace } = yield* momentOf(input)
    const started = yield* (yield* Recoveries).start(workspace.id, requestOf(input.subscription_id, input, now))
    return Json.encode(recoveryViewOf(started))
  })
})

/** Lists a subscription's recoveries. */
export const listRecoveries = OperatorOperation.make({
  name: "list_recoveries",
  summary: "List the recoveries of a subscription",
  description: "The recoveries with their progress, newest first; at most a hundred.",
  tag,
  route: { method: "GET", path, query: {}, status: 200 },
  scope: "read",
  reach: "organization",
  input: Schema.Struct(placeFields),
  output: RecoveryList,
  errors: ["not_found"],
  run: Effect.fnUntraced(function* (_, input) {
    const { workspace } = yield* momentOf(input)
    const recoveries = yield* (yield* Recoveries).list(workspace.id, input.subscription_id)
    return Json.encode({ recoveries: recoveries.map(recoveryViewOf) })
  })
})

/** Pauses, resumes or stops a recovery. */
export const changeRecovery = OperatorOperation.make({
  name: "change_recovery",
  summary: "Pause, resume or stop a recovery",
  description:
    "Deliveries that are already queued, at most a few, are still sent. A stopped recovery cannot be resumed. Repeating an action changes nothing.",
  tag,
  route: { method: "POST", path: `${path}/{recovery_id}/{action}`, query: {}, status: 200 },
  scope: "write",
  reach: "organization",
  input: Schema.Struct({
    ...placeFields,
    recovery_id: RecoveryId.annotateKey({ description: "The recovery, `rcv_…`" }),
    action: Schema.Literals(recoveryActions).annotateKey({ description: "What to do" })
  }),
  output: RecoveryView,
  errors: ["not_found", "conflict"],
  about: (_, answer) => ({ resource: answer?.id ?? null }),
  run: Effect.fnUntraced(function* (_, { action, recovery_id, ...place }) {
    const { workspace } = yield* momentOf(place)
    const named = { id: recovery_id, subscription_id: place.subscription_id }
    return Json.encode(recoveryViewOf(yield* (yield* Recoveries).change(workspace.id, named, action)))
  })
})
