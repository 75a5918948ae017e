import { Resolver as DnsResolver } from "node:dns/promises"
import { networkInterfaces } from "node:os"
import { WebhookAddress, WebhookSender } from "@quotewire/core"
import { Effect, Layer, Result } from "effect"
import { NetAddress } from "effect/net"
import { Connections } from "./Connections.ts"
import * as Destinations from "./Destinations.ts"
import * as Dial from "./Dial.ts"
import type * as HostLookUp from "./HostLookUp.ts"
import { type Message, Post } from "./Post.ts"

/** What a host can set. */
export interface Settings {
  /** Where webhooks may go; public addresses other than this machine's own where it is left out. */
  readonly policy?: WebhookAddress.Policy
  /** Who asks the name servers; the machine's own settings where it is left out. Its search domains are never used. */
  readonly resolver?: HostLookUp.Resolver
  /** How long a look-up may take in milliseconds; 5,000 where it is left out. */
  readonly look_up_limit_ms?: number
  /** The most connections to one origin, which many subscriptions can share; 256 where it is left out. */
  readonly connections_per_host?: number
  /** The most connections in all; 4,096 where it is left out. */
  readonly connections?: number
  /** How long a connection is kept without work in milliseconds; 10,000 where it is left out. */
  readonly idle_ms?: number
  /** Certificates to trust in place of the runtime's, in PEM. */
  readonly certificate_authorities?: ReadonlyArray<string>
  /** How the sender names itself. */
  readonly user_agent?: string
  /** Opens sockets; TCP where it is left out. */
  readonly connect?: Dial.Connect
}

/** How the sender names itself where the settings do not. */
export const default_user_agent = "Quotewire-Webhooks/0.1.0"

/** The addresses of this machine, of every interface. */
export const ownAddresses = (): ReadonlyArray<NetAddress.IpAddress> =>
  Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap(({ address }) => {
      const parsed = NetAddress.ipFromString(address)
      return Result.isSuccess(parsed) ? [parsed.success] : []
    })
  )

/** Sends webhooks from Node; every connection ends with the scope. */
export const layer = (settings: Settings = {}): Layer.Layer<WebhookSender.WebhookSender> =>
  Layer.effect(
    WebhookSender.WebhookSender,
    Effect.gen(function* () {
      const policy = settings.policy ?? { ...WebhookAddress.publicOnly, own_addresses: ownAddresses() }
      const resolver = settings.resolver ?? (yield* machineResolver)
      const find = Destinations.make(policy, resolver, settings.look_up_limit_ms)
      const connections = yield* makeConnections(settings, policy)
      const user_agent = settings.user_agent ?? default_user_agent

      const messageOf = ({ headers, body, deadline_ms }: WebhookSender.WebhookRequest): Message => ({
        headers: { "user-agent": user_agent, accept: "*/*", "accept-encoding": "identity", ...headers },
        body,
        deadline_ms: deadline_ms ?? WebhookSender.default_deadline_ms
      })

      return WebhookSender.WebhookSender.of({
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
  )

const refused = Effect.succeed<WebhookSender.SendOutcome>({
  response_status_code: null,
  duration_ms: 0,
  failure: "refused_address"
})

const lookUpOf = (found: HostLookUp.Found): WebhookSender.LookUp =>
  found === "unavailable" ? found : found === "refused" || found === "none" ? "refused" : "public"

// c-ares asks twice within the limit, and never with a search domain.
const machineResolver = Effect.acquireRelease(
  Effect.sync(() => new DnsResolver({ timeout: 1_500, tries: 2 })),
  (resolver) => Effect.sync(() => resolver.cancel())
)

const makeConnections = (settings: Settings, policy: WebhookAddress.Policy) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const dial = Dial.make({
        connect: settings.connect ?? Dial.tcp,
        isFit: (address) => WebhookAddress.judgeAddress(address, policy) === "public",
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
