import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import {
  Access,
  Allowance,
  apiKey,
  Carrier,
  Connections,
  defineCarrier,
  Erasures,
  Money,
  PublicUrl,
  Quotewire,
  Reply,
  Seal,
  type Storage
} from "@quotewire/core"
import { CarrierTransports, Http, Metrics, NodeCrypto, NodeWebhookSender, ServiceApi } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { Cause, Effect, Exit, Layer, Logger, Metric, References, Schema, Tracer } from "effect"
import { loopback } from "../host.ts"
import type { Places, Sentinels } from "./Sentinels.ts"

/* A service that receives secrets everywhere, with a failure at each step, and everything that it reveals. */

/** Where the story looks. */
export const placeNames = [
  ...["log levels", "log messages", "log annotations", "log causes", "spans", "metrics", "metric labels"],
  ...["responses", "headers of responses", "refusals", "URLs in responses", "MCP responses", "events"],
  ...["webhook bodies", "webhook headers", "URLs requested of carriers", "URLs requested of receivers"],
  ...["storage"]
] as const
export type Place = (typeof placeNames)[number] | "CLI output"

type Seen = Places<Place>

export const person = {
  first_name: "Sentinelda",
  last_name: "Mc Sentry",
  email: "sentinelda@mc-sentry.example",
  phone: "+12125550199",
  date_of_birth: "1985-12-10"
}
const street = "77 Sentinel Way"
const application = {
  applicant: person,
  dwelling: { address: { line1: street, city: "Sentrytown", state: "NY", zip: "10001" }, type: "apartment" }
}

/** The facts of the person. */
export const facts: Sentinels = {
  "a first name": person.first_name,
  "a last name": person.last_name,
  "an email address": person.email,
  "a phone number": person.phone,
  "a date of birth": person.date_of_birth,
  "a street": street
}

/** The key of the organization at its carrier. */
export const credential = "Sentinel+cr3dential/Zq7x=="
export const carrierId = "naic:12345"

/** A server that records its requests. */
export const server = (
  answer: (
    path: string,
    body: string,
    headers: Readonly<Record<string, unknown>>
  ) => { readonly status: number; readonly body: string }
) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const listening = createServer(async (request, response) => {
        const { body, status } = answer(request.url ?? "", await text(request), request.headers)
        response.writeHead(status, { "content-type": "application/json" }).end(body)
      })
      await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve))
      const bound = listening.address()
      const port = typeof bound === "object" && bound !== null ? bound.port : 0
      return { listening, url: `http://127.0.0.1:${port}` }
    }),
    ({ listening }) => Effect.sync(() => void listening.close().closeAllConnections())
  )

/** A carrier that is asked with a credential, and one whose adapter fails with everything in its message. */
export const carriers = (base_url: string) => {
  const lines = { renters: { states: ["NY"] } } as const
  const environments = ["sandbox"] as const
  const connection = { api_key: "secret" } as const
  const auth = apiKey({ header: "x-api-key", field: "api_key" })
  return [
    defineCarrier({
      id: carrierId,
      name: "Acme",
      environments,
      lines,
      connection,
      handoff_hosts: ["acme.example"],
      http: { base_url, auth },
      ask: async ({ facts: asked, http }) => {
        const answer = await http.post("/quotes", { json: asked.applicant })
        const { number } = await answer.json(Schema.Struct({ number: Schema.String }))
        const handoff_url = `https://acme.example/offers/${number}`
        return Reply.offers([{ offer_ref: number, premium: Money.cents(12_000), term_months: 12, handoff_url }])
      }
    }),
    defineCarrier({
      id: "naic:54321",
      name: "Careless",
      environments,
      lines,
      connection,
      http: { base_url, auth },
      ask: ({ facts: asked }) => {
        throw new Error(`No offer for ${JSON.stringify(asked)} with ${credential}`)
      }
    })
  ]
}

const noting = (seen: Seen) =>
  Logger.make(({ cause, fiber, logLevel, message }) => {
    seen.note("log levels", logLevel)
    seen.note("log messages", ...(Array.isArray(message) ? message.map(String) : [String(message)]))
    seen.note("log annotations", fiber.getRef(References.CurrentLogAnnotations))
    if (cause.reasons.length > 0) seen.note("log causes", Cause.pretty(cause))
  })

/** Records what exporters send: names, attributes, events, links, and how a span failed. */
const tracing = (seen: Seen) =>
  Tracer.make({
    span: (options) => {
      const span = Tracer.nativeTracer.span(options)
      seen.note("spans", options.name)
      const { addLinks, attribute, end, event } = span
      return Object.assign(span, {
        attribute: (key: string, value: unknown) => {
          seen.note("spans", `${key} ${safe(value)}`)
          attribute.call(span, key, value)
        },
        event: (name: string, at: bigint, attributes?: Record<string, unknown>) => {
          seen.note("spans", `${name} ${safe(attributes)}`)
          event.call(span, name, at, attributes)
        },
        addLinks: (links: Parameters<typeof addLinks>[0]) => {
          seen.note("spans", safe(links.map(({ attributes }) => attributes)))
          addLinks.call(span, links)
        },
        end: (at: bigint, exit: Exit.Exit<unknown, unknown>) => {
          if (Exit.isFailure(exit)) seen.note("spans", Cause.pretty(exit.cause))
          end.call(span, at, exit)
        }
      })
    }
  })

const safe = (value: unknown): string => {
  try {
    return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? `${one}` : one)) ?? ""
  } catch {
    return ""
  }
}

/** Everything that is needed to observe a host in every way. */
export const watched = (seen: Seen) =>
  Layer.mergeAll(
    Layer.succeed(References.MinimumLogLevel, "All"),
    Layer.succeed(References.CurrentLoggers, new Set([noting(seen)])),
    Layer.succeed(Tracer.Tracer, tracing(seen)),
    Layer.succeed(Metric.MetricRegistry, new Map())
  )

const address = { base_url: "" }

/** The whole service with a host, and the service that serves its metrics. */
export const service = <E>(storage: Layer.Layer<Storage.Storage, E>, sealKey: string, carriersUrl: string) => {
  const key = Seal.readKey(sealKey)
  if (key === null) throw new Error("The seal key is wrong")
  const host = Layer.unwrap(
    Effect.map(Metrics.onAnswered, (onAnswered) =>
      Http.layer<ServiceApi.Services>({
        ...ServiceApi.of({ mcp, mcp_origins: { allowed: [], loopback: true } }),
        port: 0,
        drain_ms: 0,
        onAnswered
      })
    )
  )
  return host.pipe(
    Layer.provide(Quotewire.worker),
    Layer.provideMerge(Quotewire.layer),
    Layer.provideMerge(storage),
    Layer.provideMerge(Layer.succeed(Carrier.CarrierAdapters, carriers(carriersUrl))),
    Layer.provide(CarrierTransports.layer()),
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: [key] })),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
    Layer.provide(
      Layer.succeed(
        PublicUrl.PublicUrl,
        Effect.sync(() => address.base_url)
      )
    ),
    Layer.provide(NodeWebhookSender.layer({ policy: loopback })),
    Layer.provide(NodeCrypto.layer)
  )
}

/**
 * Calls the host and records its responses. `secretly` does not record a response, for responses that must show a
 * secret once.
 */
const makeCaller = (seen: Seen, baseUrl: string, key: string) => {
  let calls = 0
  const send = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        "idempotency-key": `call-${++calls}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      redirect: "manual"
    })
    return { status: response.status, headers: [...response.headers].flat().join("\n"), text: await response.text() }
  }
  const shown = async (...args: Parameters<typeof send>) => {
    const { headers, status, text: body } = await send(...args)
    seen.note(status < 400 ? "responses" : "refusals", body)
    seen.note("headers of responses", headers)
    seen.note("URLs in responses", ...(body.match(/https?:\/\/[^"\s]+/g) ?? []))
    return body
  }
  const tool = async (name: string, args: object) => {
    const message = { jsonrpc: "2.0", id: ++calls, method: "tools/call", params: { name, arguments: args } }
    const { text: page } = await send("POST", "/v1/mcp", message, { accept: "application/json, text/event-stream" })
    seen.note("MCP responses", page)
  }
  return { shown, secretly: send, tool }
}

const parsed = (json: string) => JSON.parse(json)

const keysOf = Effect.gen(function* () {
  const access = yield* Access.Access
  const { id } = yield* access.createOrganization("A story")
  const keyOf = (kind: "server" | "platform" | "widget", environment: "sandbox" | "live" = "sandbox") =>
    Effect.map(access.createKey({ organization_id: id, environment, kind }), ({ key }) => key)
  const connections = yield* Connections.Connections
  for (const carrier of [carrierId, "naic:54321"]) {
    yield* connections.set({
      organization_id: id,
      carrier_id: carrier,
      environment: "sandbox",
      values: { api_key: credential }
    })
  }
  return {
    organization_id: id,
    server: yield* keyOf("server"),
    platform: yield* keyOf("platform"),
    widget: yield* keyOf("widget"),
    live: yield* keyOf("server", "live")
  }
})

/** Sends secrets to wherever someone may put them by mistake. */
const misuse = async (caller: ReturnType<typeof makeCaller>, secrets: ReadonlyArray<string>) => {
  const { shown, tool } = caller
  for (const secret of secrets) {
    const part = encodeURIComponent(secret)
    await shown("GET", `/v1/quote-requests/${part}`)
    await shown("GET", `/v1/events?cursor=${part}&key=${part}`)
    await shown("GET", `/${part}`)
    await shown("GET", `/go/${part}`)
    await shown("GET", "/v1/events", undefined, { authorization: `Bearer ${secret}` })
    await shown("POST", "/v1/quote-requests", `{"line":"renters","${secret}":`)
    await shown("POST", "/v1/quote-requests", { line: secret, request_key: secret, application: { [secret]: secret } })
    await shown("POST", "/v1/event-subscriptions", {
      url: `https://${secret}@example.com/?k=${secret}`,
      event_types: [secret]
    })
    await shown("POST", `/v1/carrier-callbacks/${carrierId}`, { number: secret })
    await tool("get_quote_request", { id: secret })
    await tool(secret, { [secret]: secret })
  }
}

/** Plays the story: requests over REST and MCP, a subscription, everything that can be misused. Returns the secrets. */
export const play = Effect.fnUntraced(function* (seen: Seen, receiverUrl: string, sealKey: string) {
  const { base_url } = yield* Http.Host
  address.base_url = base_url
  const { organization_id, live, platform, server: serverKey, widget } = yield* keysOf
  const metrics = yield* Metrics.serve({ port: 0 })
  const caller = makeCaller(seen, base_url, serverKey)
  const { shown, secretly, tool } = caller
  const start = (request_key: string) => ({
    line: "renters",
    request_key,
    consent_receipt_id: "receipt-1",
    application
  })
  const secrets = yield* Effect.promise(async () => {
    const url = `${receiverUrl}/hooks`
    const event_types = ["quote_request.queued", "quote_request.completed", "quote_request.failed"]
    const created = await secretly("POST", "/v1/event-subscriptions", { url, event_types })
    const { id: subscription, signing_secret } = parsed(created.text)
    const platformHeaders = { authorization: `Bearer ${platform}` }
    const handled = parsed((await secretly("POST", "/v1/quote-requests", start("one"), platformHeaders)).text)
    const own = parsed(await shown("POST", "/v1/quote-requests", start("two")))
    await tool("start_quote_request", start("three"))
    await shown("POST", "/v1/quote-requests", { ...start("two"), line: "pet" })
    const handle: string = handled.read_handle
    for (const { id } of [handled, own]) {
      let status = ""
      while (!/^(?:completed|failed|cancelled)$/.test(status)) {
        const read = parsed(await shown("GET", `/v1/quote-requests/${id}?wait_seconds=5`))
        status = read.quote_request.status
      }
    }
    await shown("GET", `/v1/quote-requests/${handled.id}`, undefined, { ...platformHeaders, "read-handle": handle })
    await tool("get_quote_request", { id: own.id })
    for (const [link] of seen.textOf("responses").matchAll(/\/go\/[\w-]+/g)) await shown("GET", link)
    for (const key of [widget, live]) {
      await shown("GET", `/v1/quote-requests/${own.id}`, undefined, { authorization: `Bearer ${key}` })
    }
    await misuse(caller, [
      serverKey,
      platform,
      widget,
      live,
      sealKey,
      signing_secret,
      handle,
      credential,
      person.email,
      street
    ])
    await shown("GET", "/v1/event-subscriptions")
    await shown("GET", "/v1/requests?limit=100")
    while (seen.list().some(({ place, texts }) => place === "webhook bodies" && texts < 3))
      await new Promise(setImmediate)
    await shown("GET", `/v1/event-subscriptions/${subscription}/deliveries`)
    seen.note("events", await shown("GET", "/v1/events?limit=100"))
    seen.note("metrics", await (await fetch(`${metrics.base_url}/metrics`)).text())
    return { signing_secret: String(signing_secret), handle, request: String(own.id), erased: String(handled.id) }
  })
  yield* (yield* Erasures.Erasures).erase({ quote_request_id: secrets.erased }, { by: "a ticket" })
  for (const { attributes, id } of yield* Metric.snapshot)
    seen.note("metric labels", `${id} ${JSON.stringify(attributes ?? {})}`)
  return { organization_id, server: serverKey, platform, widget, live, ...secrets }
})
