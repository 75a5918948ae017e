import type { OperatorOperation, operatorOperations } from "@quotewire/core"
import { read } from "../../src/client/answer.ts"
import { receivedFrom } from "../../src/client/Transport.ts"
import { hostUrl } from "./host.ts"

type Operation = (typeof operatorOperations)[number]
type Named<Name> = Extract<Operation, { readonly name: Name }>

/** A response of the operators' API. */
export type OperatorAnswer<Name extends RouteName> =
  Named<Name> extends OperatorOperation.OperatorOperation<string, infer Output, infer _R, infer _Input> ? Output : never

const recoveries =
  "/operator/v1/organizations/{organization_id}/{environment}/subscriptions/{subscription_id}/recoveries"

/** The operations that the console calls, with their routes. */
const routes = {
  list_organizations: "GET /operator/v1/organizations",
  find_quote_requests: "GET /operator/v1/quote-requests",
  get_quote_request_timeline: "GET /operator/v1/quote-requests/{id}/timeline",
  read_quote_request_exchanges: "POST /operator/v1/quote-requests/{id}/exchanges",
  create_partner_link: "POST /operator/v1/organizations/{organization_id}/{environment}/partner-links",
  get_carrier_status: "GET /operator/v1/carriers",
  reset_carrier: "POST /operator/v1/carriers/{carrier_id}/reset",
  list_consumers: "GET /operator/v1/consumers",
  list_parked_events: "GET /operator/v1/consumers/{name}/parked-events",
  retry_parked_event: "POST /operator/v1/consumers/{name}/parked-events/{event_id}/retry",
  drop_parked_event: "POST /operator/v1/consumers/{name}/parked-events/{event_id}/drop",
  preview_recovery: `POST ${recoveries}/preview`,
  start_recovery: `POST ${recoveries}`,
  list_recoveries: `GET ${recoveries}`,
  change_recovery: `POST ${recoveries}/{recovery_id}/{action}`,
  get_work: "GET /operator/v1/work",
  list_audit_log: "GET /operator/v1/audit-log"
} as const
type RouteName = keyof typeof routes

type Input = Readonly<Record<string, string | number | ReadonlyArray<string> | undefined>>

/** Calls an operation of the operators' API with a token. Rejects with the same errors as a client from `connect`. */
export type Call = <Name extends RouteName>(
  name: Name,
  input?: Input,
  signal?: AbortSignal
) => Promise<OperatorAnswer<Name>>

/** Creates the function that calls operations with a token. */
export const withToken =
  (token: string): Call =>
  async (name, input = {}, signal) => {
    const [method = "GET", template = ""] = routes[name].split(" ")
    const inPath = new Set(Array.from(template.matchAll(/\{(\w+)\}/g), ([, field]) => field))
    const path = template.replaceAll(/\{(\w+)\}/g, (_, field) => encodeURIComponent(String(input[field])))
    const rest = Object.entries(input).filter(([field, value]) => value !== undefined && !inPath.has(field))
    const query = new URLSearchParams(rest.map(([field, value]) => [field, String(value)])).toString()
    const response = await fetch(`${hostUrl}${path}${method === "GET" && query !== "" ? `?${query}` : ""}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(method === "POST" && { body: JSON.stringify(Object.fromEntries(rest)) }),
      ...(signal !== undefined && { signal })
    })
    // `read` throws the refusal. It can, because the operators' API uses the same error envelope.
    if (!response.ok) await read(receivedFrom(response), hostUrl)
    return response.json()
  }
