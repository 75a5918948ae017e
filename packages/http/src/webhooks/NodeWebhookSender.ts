import { Resolver as DnsResolver } from "node:dns/promises"
import { networkInterfaces } from "node:os"
import { Argument, WebhookAddress, WebhookSender } from "@quotewire/core"
import { Effect, Layer, Result, type Scope } from "effect"
import { NetAddress } from "effect/net"
import { Connections } from "./Connections.ts"
import * as Destinations from "./Destinations.ts"
import * as Dial from "./Dial.ts"
import { type Message, Post } from "./Post.ts"

/** Settings of the sender. */
export interface Settings {
  /** Where webhooks may go; by default to public addresses other than this machine's own. */
  readonly policy?: WebhookAddress.Policy
  /** Resolves names; by default with the machine's settings. Search domains are never used. */
  readonly resolver?: Destinations.Resolver
  /** How long a lookup may take, in milliseconds; 5,000 by default. */
  readonly look_up_limit_ms?: number
  /** The most connections to one origin, which many subscriptions can share; 256 by default. */
  readonly connections_per_host?: number
  /** The most connections in all; 4,096 by default. */
  readonly connections?: number
  /** How long an idle connection is kept, in milliseconds; 10,000 by default. */
  readonly idle_ms?: number
  /** Certificates to trust instead of the runtime's, in PEM. */
  readonly certificate_authorities?: ReadonlyArray<string>
  /** The `user-agent` of the sender. */
  readonly user_agent?: string
  /** Opens sockets; TCP by default. */
  readonly connect?: Dial.Connect
}

/** The default `user-agent`. */
export const defaultUserAgent = "Quotewire-Webhooks/0.1.0"

/** The addresses of all interfaces of this machine. */
export const ownAddresses = (): ReadonlyArray<NetAddress.IpAddress> =>
  Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap(({ address }) => {
      const parsed = NetAddress.ipFromString(address)
      return Result.isSuccess(parsed) ? [parsed.success] : []
    })
  )

const make = (settings: Settings) =>
  Effect.gen(function* () {
    const policy = settings.policy ?? { ...WebhookAddress.publicOnly, own_addresses: ownAddresses() }
    const resolver = settings.resolver ?? (yield* machineResolver)
    const find = Destinations.make(policy, resolver, settings.look_up_limit_ms)
    const connections = yield* makeConnections(settings, policy)
    const userAgent = settings.user_agent ?? defaultUserAgent

    const messageOf = ({ headers, body, deadline_ms }: WebhookSender.WebhookRequest): Message => ({
      headers: { "user-agent": userAgent, accept: "*/*", "accept-encoding": "identity", ...headers },
      body,
      deadline_ms: deadline_ms ?? WebhookSender.defaultDeadlineMs
    })

    return WebhookSender.WebhookSender.of({
      keeps_deadlines: true,
      send: (request) =>
        Effect.callback((resume) => {
          const destination = find(request.url)
          if (destination === null) return resume(refused)
          const report = (outcome: WebhookSender.SendOutcome) => resume(Effect.succeed(outcome))
          const post = new Post(connections, destination, messageOf(request), report)
          return Effect.sync(() => post.cancel())
        }),
      lookUp: (url) =>
        Effect.suspend(() => {
          const destination = find(url)
          return destination === null
            ? Effect.succeed("refused")
            : Effect.map(
                Effect.promise(async () => destination.addresses),
                lookUpOf
              )
        })
    })
  })

const checked = Argument.checker("NodeWebhookSender.layer")

/** Sends webhooks from Node. All connections end with the scope. */
export const layer = (settings: Settings = {}): Layer.Layer<WebhookSender.WebhookSender> =>
  Layer.effect(WebhookSender.WebhookSender, make(checked(settings)))

const refused = Effect.succeed<WebhookSender.SendOutcome>({
  response_status_code: null,
  duration_ms: 0,
  failure: "refused_address"
})

const lookUpOf = (found: Destinations.Found): WebhookSender.LookUp =>
  found === "unavailable" ? found : found === "refused" || found === "none" ? "refused" : "public"

/** Resolves names with the machine's settings. Asks twice within the limit, and never uses a search domain. */
export const machineResolver: Effect.Effect<Destinations.Resolver, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new DnsResolver({ timeout: 1_500, tries: 2 })),
  (resolver) => Effect.sync(() => resolver.cancel())
)

const makeConnections = (settings: Settings, policy: WebhookAddress.Policy) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const dial = Dial.make({
        connect: settings.connect ?? Dial.tcp,
        isAllowed: (address) => WebhookAddress.judgeAddress(address, policy) === "public",
        certificate_authorities: settings.certificate_authorities
      })
      const bounds = {
        per_host: settings.connections_per_host ?? 256,
        total: settings.connections ?? 4_096,
        idle_ms: settings.idle_ms ?? 10_000
      }
      return new Connections(bounds, dial)
    }),
    (connections) => Effect.sync(() => connections.close())
  )
