import { ApiError, Revision } from "@quotewire/core"

/** The header parameters that operations share (api.md, Headers). */
export const parameters = (served: Revision.Served) => ({
  "Service-Version": {
    name: "Service-Version",
    in: "header",
    required: false,
    description: "The revision of the contract for this call; without it, the pinned revision.",
    schema: { type: "string", enum: served.map(({ date }) => date), default: served[0].date }
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    required: true,
    description: "The same key and the same body return the first response again, for at least 24 hours.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" }
  },
  "Read-Handle": {
    name: "Read-Handle",
    in: "header",
    required: false,
    description: "The handle that `start_quote_request` returned; platform and widget keys need it to read.",
    schema: { type: "string" }
  }
})

/** The authentication schemes (api.md, Callers). A read handle alone does not authenticate. */
export const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "An API key; its prefix selects the environment." },
  read_handle: {
    type: "apiKey",
    in: "header",
    name: "Read-Handle",
    description: "In addition to the key: the handle of one quote request, for callers with a platform or widget key."
  }
} as const

/** The descriptions of the operation groups. */
const groups: Readonly<Record<string, string>> = {
  Quoting: "Capabilities, quote requests and quotes.",
  "Partner links": "Links that let a partner read one resource until they expire.",
  Events: "The event feed: every event once, in one order, for 30 days.",
  Webhooks: "Subscriptions, and the tools to see what was delivered.",
  Requests: "The log of an organization's calls, for 30 days, without bodies.",
  Feedback: "Reports about the API itself.",
  Sandbox: "Sandbox controls: scenarios, time, expiry, replays, reset.",
  Organizations: "Organizations and their API keys.",
  "Quote requests": "Quote requests of all organizations, and what happened to them.",
  Carriers: "Carriers' circuits, and organizations' connections to them.",
  Consumers: "Programs that consume events, and the events that they have parked.",
  Recoveries: "Resending many deliveries of an endpoint, in order and at a bounded rate.",
  Work: "Due work, cells and retention.",
  Erasing: "Erasing a person's data.",
  "Audit log": "What operators did."
}

/** The document's tags: one for each group of operations. */
export const tags = (names: ReadonlyArray<string>) =>
  [...new Set(names)].map((name) => ({ name, description: groups[name] ?? `${name}.` }))

/** The headers that responses can have. */
export const headers = (
  served: Revision.Served
): Readonly<Record<string, { description: string; required: boolean; schema: object }>> => ({
  "Request-Id": {
    description: "The identifier of this call; support asks for it.",
    required: true,
    schema: { type: "string", pattern: "^req_" }
  },
  "Service-Version": {
    description: "The revision that the response is written in.",
    required: true,
    schema: { type: "string", enum: served.map(({ date }) => date) }
  },
  Location: {
    description: "The path at which this host serves the created resource.",
    required: true,
    schema: { type: "string", format: "uri-reference" }
  },
  "Idempotent-Replayed": {
    description: "Marks the response of an earlier call with the same `Idempotency-Key`.",
    required: false,
    schema: { type: "string", enum: ["true"] }
  },
  "Retry-After": {
    description: "Seconds until the call can succeed.",
    required: true,
    schema: { type: "integer", minimum: 0 }
  },
  "WWW-Authenticate": {
    description: "The scheme to use.",
    required: true,
    schema: { type: "string", enum: ["Bearer"] }
  }
})

/** References to response headers. */
export const headerReferences = (names: ReadonlyArray<string>): Readonly<Record<string, { $ref: string }>> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The component name of the response for these error codes. */
export const refusalName = (codes: ReadonlyArray<ApiError.ErrorCode>): string => codes.join("_or_")

/** The response for error codes that share a status, with an example of each. */
export const refusal = (codes: ReadonlyArray<ApiError.ErrorCode>, served: Revision.Served, docsUrl: string): object => {
  const hasRetryAfter = codes.some((code) => code === "rate_limited" || code === "service_unavailable")
  return {
    description: codes.map((code) => `\`${code}\`: ${ApiError.definitions[code].meaning}`).join(" "),
    headers: headerReferences([
      "Request-Id",
      "Service-Version",
      ...(hasRetryAfter ? ["Retry-After"] : []),
      ...(codes.includes("authentication_failed") ? ["WWW-Authenticate"] : [])
    ]),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/ErrorEnvelope" },
        examples: Object.fromEntries(codes.map((code) => [code, { value: example(code, served, docsUrl) }]))
      }
    }
  }
}

const withFields: { readonly [code in ApiError.ErrorCode]?: ApiError.ApiError } = {
  invalid_input: ApiError.invalidInput([{ path: "limit", message: "Must be between 1 and 100." }]),
  needs_information: ApiError.needsInformation([
    { path: "application.vehicles.0.vin", message: "This fact is required." }
  ])
}

/** An example of the error envelope with this code. */
export const example = (code: ApiError.ErrorCode, served: Revision.Served, docsUrl: string): ApiError.ErrorEnvelope =>
  ApiError.envelope(
    code === "invalid_version" ? Revision.notServed(served) : (withFields[code] ?? ApiError.make(code)),
    "req_01kafzsk000000000000000000",
    docsUrl
  )
