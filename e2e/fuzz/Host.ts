// The command does the same on startup.
import "effect/schema/SchemaJITCompiler/enable"
import { Access, Allowance, operations, Quotewire, Seal, type Storage, WebhookSender } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { Http, NodeCrypto, OpenApi } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer, Predicate } from "effect"

/** The host under test, and what is known about it: keys and identifiers by the names that cases use. */
export interface Target {
  readonly base_url: string
  readonly document: OpenApi.Document
  readonly known: Readonly<Record<string, string>>
}

/** Subscriber endpoints that accept everything, so that no request leaves this machine. */
const endpoints = Layer.succeed(WebhookSender.WebhookSender, {
  send: () => Effect.succeed({ response_status_code: 200, duration_ms: 1, failure: null }),
  lookUp: () => Effect.succeed("public")
})

const core = Quotewire.worker.pipe(
  Layer.provideMerge(Quotewire.layer),
  Layer.provideMerge(MemoryStorage.layer),
  Layer.provide(Quotewire.sandboxCarriers),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
  Layer.provide(endpoints),
  Layer.provide(NodeCrypto.layer)
)

const serve = Http.layer<Quotewire.Services | Storage.Storage>({ operations, port: 0, drain_ms: 0 })

const keysOf = Effect.fnUntraced(function* (access: Access.Access["Service"], name: string) {
  const { id } = yield* access.createOrganization(name)
  const keyOf = (kind: "server" | "widget" | "platform") =>
    Effect.map(access.createKey({ organization_id: id, environment: "sandbox", kind }), ({ key }) => key)
  return { server: yield* keyOf("server"), widget: yield* keyOf("widget"), platform: yield* keyOf("platform") }
})

/** Starts a host in memory without limits, with at least one of everything in it. It stops with the scope. */
export const start = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.provideMerge(serve, core))
  const { base_url } = Context.get(context, Http.Host)
  const access = Context.get(context, Access.Access)
  const keys = yield* keysOf(access, "Fuzzed")
  const { server: scratch } = yield* keysOf(access, "Scratch")
  const ids = yield* Effect.promise(() => furnish(base_url, keys.server))
  const target: Target = {
    base_url,
    document: JSON.parse(JSON.stringify(OpenApi.document(operations, base_url))),
    known: { ...keys, scratch, ...ids }
  }
  return target
})

/** The value at a path of names and numbers in a response. */
const at = (value: unknown, ...path: ReadonlyArray<string | number>): string =>
  String(path.reduce<unknown>((node, name) => (Predicate.hasProperty(node, name) ? node[name] : undefined), value))

/** Creates a resource of each kind, and returns their identifiers. */
const furnish = async (baseUrl: string, key: string): Promise<Readonly<Record<string, string>>> => {
  let calls = 0
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        "idempotency-key": `furnish-${++calls}`,
        ...(body !== undefined && { "content-type": "application/json" })
      },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    return response.json()
  }
  const subscribe = () =>
    call("POST", "/v1/event-subscriptions", { url: "https://hooks.example.com/in", event_types: ["quote.created"] })
  const subscription = at(await subscribe(), "id")
  const request = at(
    await call("POST", "/v1/quote-requests", {
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: "furnish",
      application: ExampleApplications.smallest.renters
    }),
    "id"
  )
  await call("POST", "/v1/sandbox/time", { seconds: 60 })
  const report = { kind: "bug", summary: "a", expected: "b", actual: "c" }
  return {
    subscription,
    request,
    recovery: await stopped(call, `/v1/event-subscriptions/${subscription}`),
    disabled: at(await subscribe(), "id"),
    quote: at(await call("GET", `/v1/quote-requests/${request}`), "quotes", 0, "id"),
    event: at(await call("GET", `/v1/event-subscriptions/${subscription}/deliveries`), "deliveries", 0, "event_id"),
    report: at(await call("POST", "/v1/feedback", report), "feedback_id"),
    call: await logged(() => call("GET", "/v1/requests"))
  }
}

/** The identifier of a recovery that was stopped, so that it can be stopped again. */
const stopped = async (
  call: (method: string, path: string, body?: object) => Promise<unknown>,
  subscription: string
): Promise<string> => {
  // The deliveries must have ended, so that they can be sent again.
  for (let tries = 0; tries < 40; tries++) {
    const all = at(await call("GET", `${subscription}/deliveries?limit=100`), "deliveries", 0, "status")
    if (all === "succeeded") break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const id = at(await call("POST", `${subscription}/recoveries`, { per_minute: 1, statuses: ["succeeded"] }), "id")
  await call("POST", `${subscription}/recoveries/${id}/stop`)
  return id
}

/** The identifier of a call in the request log, which is written with a delay of at most a second. */
const logged = async (read: () => Promise<unknown>): Promise<string> => {
  for (let tries = 0; tries < 40; tries++) {
    const id = at(await read(), "requests", 0, "request_id")
    if (id !== "undefined") return id
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error("The request log stays empty")
}
