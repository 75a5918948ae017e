import { Access, Allowance, Answers, ApiError, Ids, Json, Workspace, Workspaces } from "@quotewire/core"
import { Http, NodeCrypto } from "@quotewire/http"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { Notes, operations } from "./operations.ts"

/** The key of a server, a widget and a platform; every other key is wrong. */
export const keys = { server: "sandbox_server_key", widget: "sandbox_widget_key", platform: "sandbox_platform_key" } as const

const access = Layer.effect(
  Access.Access,
  Effect.gen(function* () {
    const ids = yield* Ids.Ids
    const owner = { organization_id: ids.organization(), workspace_id: ids.workspace(), key_id: ids.key() }
    return Access.Access.of({
      createOrganization: () => Effect.die("not here"),
      createKey: () => Effect.die("not here"),
      authenticate: ({ key, read_handle }) => {
        const kind = (["server", "widget", "platform"] as const).find((one) => keys[one] === key)
        return kind === undefined
          ? Effect.fail(ApiError.make("authentication_failed"))
          : Effect.succeed({ ...owner, environment: "sandbox", kind, read_handle })
      }
    })
  })
)

const answers = Layer.sync(Answers.Answers, () => {
  const given = new Map<string, string>()
  return Answers.Answers.of({
    once: <A, E, R>(keyed: Answers.KeyedCall, run: Effect.Effect<Json.Json<A>, E, R>) => {
      const { key } = keyed
      if (key === null) return Effect.fail(ApiError.invalidInput([{ path: "Idempotency-Key", message: "Send it." }]))
      const text = given.get(key)
      if (text !== undefined) return Effect.succeed({ json: Json.fromText<A>(text), replayed: true })
      return Effect.map(run, (json) => {
        given.set(key, json.text)
        return { json, replayed: false }
      })
    }
  })
})

const workspaces = Layer.effect(
  Workspaces.Workspaces,
  Effect.gen(function* () {
    const ids = yield* Ids.Ids
    const workspace = Workspace.create(ids.workspace(), ids.organization(), "sandbox", 0)
    return Workspaces.Workspaces.of({
      moment: () => Effect.map(Clock.currentTimeMillis, (now) => ({ workspace, now })),
      save: () => Effect.die("not here"),
      update: () => Effect.die("not here")
    })
  })
)

/** Everything that the host of a test needs, without storage. */
export const services = Layer.mergeAll(access, answers, workspaces, Allowance.Allowance.layer, Notes.layer).pipe(
  Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
  Layer.provideMerge(Ids.Ids.layer),
  Layer.provide(NodeCrypto.layer)
)

/** A running host, and how to talk to it. */
export interface TestHost {
  readonly url: string
  readonly port: number
  readonly notes: Notes["Service"]
  /** Sends a request with the server's key, unless `key` says otherwise, and reads the answer to its end. */
  readonly send: (method: string, target: string, options?: SendOptions) => Effect.Effect<TestAnswer>
}

export interface SendOptions {
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: BodyInit
  readonly json?: unknown
  readonly signal?: AbortSignal
}

export interface TestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

type Settings = Partial<Http.Settings<Notes>>

/** Starts a host on a free port; it stops with the scope. */
export const start = (settings: Settings = {}): Effect.Effect<TestHost, Http.CannotListen, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.provideMerge(Http.layer<Notes>({ operations, port: 0, ...settings }), services)
    )
    const host = Context.get(context, Http.Host)
    const send: TestHost["send"] = (method, target, options = {}) =>
      Effect.promise(async () => {
        const { key = keys.server, json } = options
        const response = await fetch(`${host.base_url}${target}`, {
          method,
          redirect: "manual",
          headers: {
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
            ...(json === undefined ? {} : { "content-type": "application/json" }),
            ...options.headers
          },
          ...(json === undefined ? (options.body === undefined ? {} : { body: options.body }) : { body: JSON.stringify(json) }),
          ...(options.signal === undefined ? {} : { signal: options.signal })
        })
        return { status: response.status, headers: response.headers, text: await response.text() }
      })
    return { url: host.base_url, port: host.port, notes: Context.get(context, Notes), send }
  })
