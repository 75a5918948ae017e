import { Access, Erasures } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect } from "effect"
import * as Ledger from "./Ledger.ts"
import type { Machine } from "./Machine.ts"
import { operation } from "./Operations.ts"
import { urlOf } from "./Receivers.ts"
import type { Service } from "./Service.ts"
import { nameOf } from "./SimulatedCarriers.ts"
import type { Action } from "./Story.ts"
import { environmentOf, type WorkspaceName, type Workspaces } from "./World.ts"

/*
 * What callers and operators do in a story. Each deed records what it was told.
 */

/** The result of a deed that cannot happen now, or that does not belong to callers and operators. */
export const nothing = "nothing"

/** What performing a deed requires. */
export interface DeedParts {
  readonly machine: Machine
  readonly ledger: Ledger.Ledger
  readonly service: Service
  readonly workspaces: Workspaces
}

type ActionOf<Deed extends Action["do"]> = Extract<Action, { readonly do: Deed }>
type Subscribe = ActionOf<"subscribe">

/** The types of events that a subscription chooses. */
const typesOf: { readonly [types in Subscribe["types"]]: ReadonlyArray<string> } = {
  ends: ["quote_request.completed", "quote_request.failed", "quote_request.cancelled", "quote_request.incomplete"],
  quotes: ["quote.created", "quote.updated", "quote.expired"],
  all: [
    "quote_request.queued",
    "quote_request.updated",
    "quote_request.completed",
    "quote_request.failed",
    "quote_request.cancelled",
    "quote_request.incomplete",
    "quote.created",
    "quote.updated",
    "quote.expired"
  ]
}

const start = (
  { ledger, machine, service, workspaces }: DeedParts,
  { as, copies, key, line, lost_answers, request, workspace }: ActionOf<"start">
) => {
  const changes = {
    applicant: { first_name: nameOf(request) },
    ...(as === "one where no carrier is" && { dwelling: { address: { state: "WY", zip: "82001" }, type: "apartment" } })
  }
  const input = {
    line,
    request_key: `start-${request}`,
    consent_receipt_id: `receipt-${request.toString().padStart(4, "0")}`,
    application: { ...ExampleApplications.smallest[line], ...changes },
    ...(as === "one that cannot start" && { scenario: "cannot_start" })
  }
  const once = Effect.gen(function* () {
    const sent = Ledger.momentOf(machine)
    const options = { key: workspaces[workspace][key], lost_answers }
    const { id, read_handle } = yield* service.call(operation("start_quote_request"), input, options)
    ledger.accepted.push({ request, workspace, id, sent, answered: Ledger.momentOf(machine) })
    if (key !== "widget") return
    const reading = { key: workspaces[workspace].widget, ...(read_handle !== undefined && { read_handle }) }
    const read = service.call(operation("get_quote_request"), { id, wait_seconds: 0 }, reading)
    yield* Effect.catch(read, ({ _tag }) =>
      Effect.sync(() => {
        // A reset may have erased it.
        if (_tag !== "not_found") ledger.wrong.push(`A widget that started ${id} could not read it: ${_tag}`)
      })
    )
  })
  return Effect.forEach(Array.from({ length: copies }), () => once, { concurrency: "unbounded", discard: true })
}

/** The request with a number, as its caller knows it; null if it has not been accepted yet. */
const acceptedOf = ({ ledger }: DeedParts, request: number) =>
  ledger.accepted.findLast((accepted) => accepted.request === request) ?? null

const subscriptionOf = ({ ledger }: DeedParts, subscription: number) =>
  ledger.subscribed.find(({ url }) => url === urlOf(subscription)) ?? null

/** Acts on a request, if it was accepted. Its caller has a server key. */
const withRequest = <A, E>(
  parts: DeedParts,
  request: number,
  body: (accepted: Ledger.Accepted, key: string) => Effect.Effect<A, E>
) => {
  const accepted = acceptedOf(parts, request)
  return accepted === null ? Effect.succeed(nothing) : body(accepted, parts.workspaces[accepted.workspace].server)
}

const withSubscription = <A, E>(
  parts: DeedParts,
  subscription: number,
  body: (subscribed: Ledger.Subscribed, key: string) => Effect.Effect<A, E>
) => {
  const subscribed = subscriptionOf(parts, subscription)
  return subscribed === null ? Effect.succeed(nothing) : body(subscribed, parts.workspaces[subscribed.workspace].server)
}

/** Records when a deed was sent and when its response came. */
const noted = <A, E>({ ledger, machine }: DeedParts, deed: string, about: string, body: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const sent = Ledger.momentOf(machine)
    const done: { readonly deed: string; readonly about: string; readonly sent: Ledger.Moment } = { deed, about, sent }
    ledger.begun.push(done)
    return Effect.tap(body, () => Effect.sync(() => ledger.done.push({ ...done, answered: Ledger.momentOf(machine) })))
  })

const subscribe = (parts: DeedParts, { receiver, subscription, types, workspace }: Subscribe) =>
  Effect.gen(function* () {
    const { ledger, machine, service, workspaces } = parts
    const sent = Ledger.momentOf(machine)
    const input = { url: urlOf(receiver), event_types: typesOf[types] }
    const { id, signing_secret } = yield* service.call(operation("create_event_subscription"), input, {
      key: workspaces[workspace].server,
      idempotency_key: `subscribe-${subscription}`
    })
    const secrets = signing_secret === null ? [] : [signing_secret]
    const has_unknown_secret = signing_secret === null
    const when = { sent, answered: Ledger.momentOf(machine), disabling: null, disabled: null }
    const { event_types, url } = input
    ledger.subscribed.push({ id, workspace, url, types: event_types, secrets, has_unknown_secret, ...when })
  })

const control = (
  parts: DeedParts,
  name: "advance_time" | "force_expiry" | "replay_events" | "reset_sandbox",
  workspace: WorkspaceName,
  input: object,
  at: number
) => {
  const options = { key: parts.workspaces[workspace].server, idempotency_key: `${name}-${at}` }
  return noted(parts, name, workspace, parts.service.call(operation(name), input, options))
}

const disable = (parts: DeedParts, subscription: number) =>
  withSubscription(parts, subscription, (subscribed, key) =>
    Effect.gen(function* () {
      subscribed.disabling = Ledger.momentOf(parts.machine)
      yield* parts.service.call(operation("disable_event_subscription"), { id: subscribed.id }, { key })
      subscribed.disabled = Ledger.momentOf(parts.machine)
    })
  )

const rotate = (parts: DeedParts, { at, subscription }: ActionOf<"rotate">) =>
  withSubscription(parts, subscription, (subscribed, key) =>
    Effect.map(
      parts.service.call(
        operation("rotate_event_subscription_secret"),
        { id: subscribed.id },
        { key, idempotency_key: `rotate-${at}` }
      ),
      ({ signing_secret }) => {
        if (signing_secret === null) subscribed.has_unknown_secret = true
        else subscribed.secrets.push(signing_secret)
      }
    )
  )

const replay = (parts: DeedParts, { at, subscription }: ActionOf<"replay a delivery">) =>
  withSubscription(parts, subscription, ({ id }, key) =>
    Effect.gen(function* () {
      const { deliveries } = yield* parts.service.call(operation("list_event_deliveries"), { id, limit: 5 }, { key })
      const newest = deliveries[0]
      if (newest === undefined) return nothing
      const input = { id, event_id: newest.event_id }
      return yield* parts.service.call(operation("replay_event_delivery"), input, {
        key,
        idempotency_key: `replay-${at}`
      })
    })
  )

/** A new key works before the old one is revoked. */
const rotateKey = (parts: DeedParts, workspace: WorkspaceName) =>
  Effect.gen(function* () {
    const { organization_id, spare } = parts.workspaces[workspace]
    const newKey = { organization_id, environment: environmentOf(workspace), kind: "server" } as const
    const made = Effect.flatMap(Access.Access, (access) => access.createKey(newKey))
    const { key } = yield* parts.service.command("create a key", made, { lost_answers: 1 })
    if (!(yield* isAccepted(parts, key))) parts.ledger.wrong.push(`A new key of ${workspace} was refused`)
    const revoked = Effect.flatMap(Access.Access, (access) => access.revokeKey(spare.id))
    yield* noted(parts, "revoke", workspace, parts.service.command("revoke a key", revoked))
  })

const isAccepted = ({ service }: DeedParts, key: string) =>
  service.call(operation("list_quote_requests"), { limit: 1 }, { key }).pipe(
    Effect.as(true),
    Effect.catch(({ _tag }) => Effect.succeed(_tag !== "authentication_failed"))
  )

const useKey = (parts: DeedParts, workspace: WorkspaceName) =>
  Effect.gen(function* () {
    const { ledger, machine, workspaces } = parts
    const sent = Ledger.momentOf(machine)
    const was_accepted = yield* isAccepted(parts, workspaces[workspace].spare.key)
    ledger.keyUses.push({ workspace, sent, answered: Ledger.momentOf(machine), was_accepted })
    ledger.reached.add(`key: ${was_accepted ? "accepted" : "refused"}`)
  })

const erase = (parts: DeedParts, request: number) =>
  withRequest(parts, request, ({ id }) => {
    const erased = Effect.flatMap(Erasures.Erasures, (erasures) =>
      erasures.erase({ quote_request_id: id }, { by: "the operator" })
    )
    return noted(parts, "erase", id, parts.service.command("erase", erased))
  })

/**
 * Performs an action of callers or operators; does nothing if the action concerns hosts or surroundings. A refusal is
 * a response.
 */
export const perform = (parts: DeedParts, action: Action): Effect.Effect<unknown, unknown> => {
  const { service } = parts
  switch (action.do) {
    case "start":
      return start(parts, action)
    case "read":
      return withRequest(parts, action.request, ({ id }, key) =>
        service.call(operation("get_quote_request"), { id, wait_seconds: action.wait_seconds }, { key })
      )
    case "cancel":
      return withRequest(parts, action.request, ({ id }, key) =>
        service.call(operation("cancel_quote_request"), { id }, { key })
      )
    case "erase":
      return erase(parts, action.request)
    case "subscribe":
      return subscribe(parts, action)
    case "rotate":
      return rotate(parts, action)
    case "disable":
      return disable(parts, action.subscription)
    case "send a test":
      return withSubscription(parts, action.subscription, ({ id }, key) =>
        service.call(operation("send_test_event"), { id }, { key, idempotency_key: `test-${action.at}` })
      )
    case "replay a delivery":
      return replay(parts, action)
    case "rotate a key":
      return rotateKey(parts, action.workspace)
    case "use the spare key":
      return useKey(parts, action.workspace)
    case "advance":
      return control(parts, "advance_time", action.workspace, { seconds: action.seconds }, action.at)
    case "reset":
      return control(parts, "reset_sandbox", action.workspace, {}, action.at)
    case "force expiry":
      return control(parts, "force_expiry", action.workspace, {}, action.at)
    case "replay events":
      return control(parts, "replay_events", action.workspace, {}, action.at)
    default:
      return Effect.succeed(nothing)
  }
}
