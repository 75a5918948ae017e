// The command does the same on startup.
import "effect/schema/SchemaJITCompiler/enable"
import { Access, Allowance, operations, PublicUrl, Quotewire, Seal, WebhookSender } from "@quotewire/core"
import { Http, MessageRoute, NodeCrypto, type ServiceApi } from "@quotewire/http"
import { mcp, type Tool } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer } from "effect"

/** Hosts that share one storage backend, as behind a load balancer, and one organization's keys. */
export class AgentHosts extends Context.Service<
  AgentHosts,
  {
    readonly base_urls: readonly [string, ...Array<string>]
    readonly keys: { readonly server: string; readonly widget: string; readonly platform: string }
  }
>()("e2e/AgentHosts") {}

/** How the hosts differ from the defaults. */
export interface AgentHostOptions {
  /** Tools in addition to the service's own. */
  readonly tools?: ReadonlyArray<Tool.Tool>
  /** How many hosts there are; one by default. */
  readonly hosts?: number
}

const make = ({ hosts = 1, tools = [] }: AgentHostOptions) =>
  Effect.gen(function* () {
    const access = yield* Access.Access
    const organization = yield* access.createOrganization("Agents")
    const keyOf = (kind: "server" | "widget" | "platform") =>
      Effect.map(access.createKey({ organization_id: organization.id, environment: "sandbox", kind }), ({ key }) => key)
    const keys = yield* Effect.all({ server: keyOf("server"), widget: keyOf("widget"), platform: keyOf("platform") })
    const keyless = {
      organization_id: organization.id,
      workspace_id: organization.workspaces.sandbox,
      environment: "sandbox"
    } as const
    const serve = Effect.contextWith((wakes: Context.Context<Quotewire.Services>) =>
      Layer.build(
        Http.layer<ServiceApi.Services>({
          operations,
          routes: MessageRoute.make(mcp({ tools }), { allowed: [], loopback: true }),
          port: 0,
          drain_ms: 0,
          wake: Effect.provideContext(Quotewire.releaseLongPolls, wakes)
        })
      )
    ).pipe(
      Effect.map((context) => Context.get(context, Http.Host).base_url),
      Effect.provideService(Access.KeylessWorkspace, keyless)
    )
    const first = yield* serve
    // Like processes, they share only the storage and the keys.
    const another = Effect.flatMap(Layer.build(Layer.fresh(Quotewire.layer)), (own) =>
      Effect.provideContext(serve, own)
    )
    const others = yield* Effect.all(Array.from({ length: hosts - 1 }, () => another))
    return AgentHosts.of({ base_urls: [first, ...others], keys })
  })

/**
 * HTTP hosts with the agent endpoint on one storage backend in memory. They admit callers without a key, and have no
 * limits.
 */
export const agentHosts = (options: AgentHostOptions = {}) =>
  Layer.effect(AgentHosts, make(options)).pipe(
    Layer.provide(Quotewire.worker),
    Layer.provide(Quotewire.layer),
    Layer.provide(MemoryStorage.layer),
    Layer.provide(Layer.mergeAll(Quotewire.sandboxCarriers, Seal.SealKeys.layerEphemeral)),
    Layer.provide(Layer.succeed(Allowance.AllowanceLimits, Allowance.noLimits)),
    Layer.provide(Layer.succeed(PublicUrl.PublicUrl, Effect.succeed("https://quotes.example"))),
    Layer.provide(WebhookSender.WebhookSender.layerOff),
    Layer.provide(NodeCrypto.layer)
  )
