import { Event, type Lines, Resource } from "@quotewire/core"

/** The tag of the webhooks. */
export const tag = {
  name: "Webhook events",
  description: "What is sent to the URL of a subscription: signed POSTs, as defined by Standard Webhooks."
}

/** The schemas of webhook bodies. */
export const schemas = [Event.WebhookEvent, Resource.TestEvent] as const

/** The document's `webhooks`: the request for each event type, and the expected responses. */
export const webhooks = (
  headerPrefix: string,
  revision: string,
  lines: Lines.LineSet
): Readonly<Record<string, object>> => {
  const [line = ""] = lines.keys()
  return Object.fromEntries(
    Event.types.map((type) => [type, { post: exampleEvent(type, headerPrefix, { revision, line }) }])
  )
}

type Type = (typeof Event.types)[number]

/** The fields of example events besides their type. */
interface ExampleFields {
  readonly revision: string
  readonly line: string
}

const exampleEvent = (type: Type, headerPrefix: string, example: ExampleFields) => ({
  operationId: `on_${type.replace(".", "_")}`,
  summary: type,
  description: `${Event.meanings[type]} ${type === "webhook.test" ? "" : reading}`.trim(),
  tags: [tag.name],
  security: [],
  parameters: Object.keys(parameters(headerPrefix)).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  requestBody: { required: true, content: { "application/json": bodyOf(type, example) } },
  responses: answers
})

const reading =
  "Events can arrive twice or out of order: store the ids that you have handled, respond before you do the work, and read the resource if the version is greater than the one you have."

const answers = {
  "2XX": { description: "Confirmed: any 2xx whose headers and body arrive within 15 seconds." },
  "4XX": {
    description:
      "Not confirmed, like a redirect or a timeout: the event is sent again after 5 seconds, 5 minutes, 30 minutes, 2, 5, 10 and 10 hours. If the signature is wrong or the timestamp is more than 5 minutes off, return 400 and do nothing else."
  },
  "5XX": { description: "Not confirmed: the event is sent again on the same schedule as after a 4xx." }
}

/**
 * The headers of a delivery: the standard `webhook-` headers, and headers with the same values under the provider's
 * prefix.
 */
export const parameters = (headerPrefix: string): Readonly<Record<string, object>> =>
  Object.fromEntries(
    ["webhook-", headerPrefix].flatMap((prefix) =>
      headers.map(({ name, ...rest }) => [`${prefix}${name}`, { name: `${prefix}${name}`, in: "header", ...rest }])
    )
  )

const headers = [
  {
    name: "id",
    required: true,
    description: "The id of the event: the same in every retry and every replay.",
    schema: { type: "string", pattern: "^evt_" }
  },
  {
    name: "timestamp",
    required: true,
    description: "Unix seconds when this attempt was signed.",
    schema: { type: "integer" }
  },
  {
    name: "signature",
    required: true,
    description:
      "One or more signatures, separated by spaces; accept the request if one is valid. Each is `v1,` and the base64 of the HMAC-SHA256 over `{id}.{timestamp}.{body}`, keyed with the base64 after `whsec_`.",
    schema: { type: "string", pattern: "^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$" }
  }
] as const

const bodyOf = (type: Type, { line, revision: schema_version }: ExampleFields): object => {
  if (type === "webhook.test")
    return { schema: { $ref: "#/components/schemas/TestEvent" }, ...exampleOf({ ...testEvent, schema_version }) }
  const schema = { $ref: "#/components/schemas/WebhookEvent" }
  // Events about purchases do not occur yet, so they have no example.
  return type.startsWith("purchase.")
    ? { schema }
    : { schema, ...exampleOf({ ...eventOf(type, line), schema_version }) }
}

const exampleOf = (value: object) => ({ examples: { sent: { value } } })

const common = { occurred_at: "2026-11-20T12:00:08.000Z", environment: "sandbox" } as const

const testEvent = {
  id: "evt_test01kafzsk000000000000000000",
  type: "webhook.test",
  ...common,
  subscription_id: "sub_01kafzsk000000000000000000"
}

const eventOf = (type: Type, line: string) => ({
  id: "evt_01kafzsk000000000000000000",
  type,
  ...common,
  line,
  resource: type.startsWith("quote.")
    ? { type: "quote", id: "qt_01kafzsk000000000000000000", version: type === "quote.created" ? 1 : 2 }
    : { type: "quote_request", id: "qreq_01kafzsk000000000000000000", version: versions[type] ?? 5 }
})

/** For each event type, the version of the quote request at which the event first occurs. */
const versions: { readonly [type in Type]?: number } = {
  "quote_request.queued": 1,
  "quote_request.updated": 2,
  "quote_request.cancelled": 2
}
