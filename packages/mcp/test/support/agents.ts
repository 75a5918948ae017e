import { Access, ApiError, Ids, type Operation, operations, Quotewire, type Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { MessageRoute, OAuth, ServiceApi } from "@quotewire/http"
import { asking, Endpoint, mailboxes, type RenamedArgument, type Tool, Tools } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer, Result } from "effect"

type Services = Quotewire.Services | Storage.Storage

/** A request as a test writes it. */
export interface Sent {
  readonly method?: string
  /** The kind of sandbox key to call with, or an invalid key; none by default. */
  readonly as?: "server" | "widget" | "platform" | { readonly authorization: string }
  readonly headers?: Readonly<Record<string, string>>
  /** The message, or a raw body. */
  readonly message?: unknown
  readonly body?: string | Uint8Array
  readonly address?: string
  /** The path; by default the endpoint's. */
  readonly path?: string
  /** Receives the messages of a response with events as they arrive. */
  readonly events?: Array<unknown>
}

/** A response as a test reads it. */
export interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  // A test reads responses as a program in another language would.
  // biome-ignore lint/suspicious/noExplicitAny: what stands in it is what the test is about
  readonly body: any
}

/** The agent endpoint as a route of the HTTP host, on a whole core, without sockets. */
export class Agents extends Context.Service<
  Agents,
  {
    /** Sends a request. A refusal before the message is read gets the envelope, as from an HTTP host. */
    readonly send: (sent: Sent) => Effect.Effect<Got>
    /** Calls a tool without a handshake, and returns its result. */
    readonly call: (name: string, args: unknown, as?: Sent["as"]) => Effect.Effect<Got["body"]>
  }
>()("test/Agents") {}

/** How this world of agents differs from the default one. */
export interface AgentsOptions extends World.WorldOptions {
  readonly keyless?: boolean
  readonly origins?: MessageRoute.Origins
  readonly operations?: ReadonlyArray<Operation.Operation<string, unknown, unknown, Services>>
  readonly renamed?: ReadonlyArray<RenamedArgument.RenamedArgument>
  readonly tools?: ReadonlyArray<Tool.Tool<Services>>
  /** The options for tokens of an issuer; by default for this world's organization. */
  readonly oauth?: Omit<OAuth.OAuthOptions, "environment">
}

/** The address of the endpoint with tokens. */
export const baseUrl = "https://quotes.example/insurance"

/** The messages of a response with events, in order. A comment is `":"`. */
const eventsIn = (stream: (write: (text: string) => void) => Effect.Effect<void>, events: Array<unknown>) =>
  Effect.as(
    stream((text) => events.push(text.startsWith(":") ? ":" : JSON.parse(text.slice(text.indexOf("{"))))),
    events
  )

const docsUrl = "https://docs.example/docs"

const make = (options: AgentsOptions) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<Services>()
    const ids = yield* Ids.Ids
    const { keys, organization } = yield* World.World
    const keyless = {
      organization_id: organization.id,
      workspace_id: organization.workspaces.sandbox,
      environment: "sandbox"
    } as const
    const endpoint = Endpoint.make<Services>({
      tools: [...Tools.of<Services>(options.operations ?? operations, options.renamed), ...(options.tools ?? [])],
      version: "1.2.3",
      asking,
      mailboxes,
      sign: (text) => Quotewire.sign("test", text),
      isSigned: (text, signature) => Quotewire.isSigned("test", text, signature)
    })
    const origins = options.origins ?? { allowed: [], loopback: false }
    const signedIn = (given: Omit<OAuth.OAuthOptions, "environment">) => {
      const whose = given.organizations === undefined ? { organization_id: organization.id } : {}
      const oauth = Result.getOrThrow(OAuth.check({ environment: "sandbox", ...whose, ...given }))
      return ServiceApi.of({ mcp: () => endpoint, mcp_origins: origins, oauth }).routesAt?.(baseUrl) ?? []
    }
    const routes = options.oauth === undefined ? MessageRoute.make(endpoint, origins) : signedIn(options.oauth)
    const authorizationOf = (as: Sent["as"]) => {
      if (as === undefined) return {}
      return typeof as === "string" ? { authorization: `Bearer ${keys.sandbox[as]}` } : as
    }
    const send = (sent: Sent): Effect.Effect<Got> => {
      const { address = "127.0.0.1", as, body, events = [], headers, message, method = "POST", path = "/v1/mcp" } = sent
      const text = body ?? JSON.stringify(message)
      const read = () => Effect.succeed(typeof text === "string" ? new TextEncoder().encode(text) : text)
      const all = { "content-type": "application/json", ...authorizationOf(as), ...headers }
      const incoming = {
        request_id: ids.request(),
        method,
        params: {},
        query: "",
        headers: all,
        header: (name: string) => new Headers(all).get(name),
        address,
        docs_url: docsUrl,
        public_path: "",
        read,
        readRaw: read
      }
      const route = routes.find((one) => one.method === method && one.path === path)
      return (route === undefined ? Effect.fail(ApiError.make("not_found")) : route.handle(incoming)).pipe(
        Effect.flatMap(({ body: answer, headers: answerHeaders, status, stream }) =>
          stream === undefined
            ? Effect.succeed({
                status,
                headers: answerHeaders,
                body: answer === null ? null : JSON.parse(String(answer))
              })
            : Effect.map(eventsIn(stream, events), (eventsOf) => ({ status, headers: answerHeaders, body: eventsOf }))
        ),
        Effect.catch((error) => Effect.succeed({ status: error.status, headers: {}, body: { error: error._tag } })),
        Effect.provideService(Access.KeylessWorkspace, options.keyless === false ? null : keyless),
        Effect.provideContext(context)
      )
    }
    const call = (name: string, args: unknown, as?: Sent["as"]) =>
      Effect.map(
        send({ ...(as !== undefined && { as }), message: toolsCall(name, args) }),
        ({ body }) => body.result ?? body
      )
    return Agents.of({ send, call })
  })

/** Agents in a separate world, on a storage backend in memory. */
export const layer = (options: AgentsOptions = {}) =>
  Layer.provideMerge(Layer.effect(Agents, make(options)), World.World.layer(MemoryStorage.layer, options))

/** The plain call of a tool from the contract. */
export const toolsCall = (name: string, args: unknown = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args }
})

/** A request of 2026-07-28, which needs no handshake. */
export const modern = (method: string, params: object = {}, clientCapabilities: object = {}) => ({
  jsonrpc: "2.0",
  id: "m-1",
  method,
  params: {
    ...params,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "a-client", version: "9" },
      "io.modelcontextprotocol/clientCapabilities": clientCapabilities
    }
  }
})

/** The headers that a request of 2026-07-28 needs. */
export const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name })
})
