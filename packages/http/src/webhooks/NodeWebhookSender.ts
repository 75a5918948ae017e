import { Resolver as DnsResolver } from "node:dns/promises"
import { networkInterfaces } from "node:os"
import { WebhookAddress, WebhookSender } from "@quotewire/core"
import { Effect, Layer, Result } from "effect"
import { NetAddress } from "effect/net"
import { Connections } from "./Connections.ts"
import * as Dial from "./Dial.ts"
import * as HostLookUp from "./HostLookUp.ts"
import { type Means, Post } from "./Post.ts"

/** Settings of the sender. */
export interface Settings {
  /** Where webhooks may go; by default to public addresses other than this machine's own. */
  readonly policy?: WebhookAddress.Policy
  /** Resolves names; by default with the machine's settings. Search domains are never used. */
  readonly resolver?: HostLookUp.Resolver
  /** How long a look-up may take, in milliseconds; 5,000 by default. */
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
export const default_user_agent = "Quotewire-Webhooks/0.1.0"

/** The addresses of all interfaces of this machine. */
export const ownAddresses = (): ReadonlyArray<NetAddress.IpAddress> =>
  Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap(({ address }) => {
      const parsed = NetAddress.ipFromString(address)
      return Result.isSuccess(parsed) ? [parsed.success] : []
    })
  )

/** Sends webhooks from Node. All connections end with the scope. */
export const layer = (settings: Settings = {}): Layer.Layer<WebhookSender.WebhookSender> =>
  Layer.effect(
    WebhookSender.WebhookSender,
    Effect.gen(function* () {
      const policy = settings.policy ?? { ...WebhookAddress.publicOnly, own_addresses: ownAddresses() }
      const resolver = settings.resolver ?? (yield* machineResolver)
      const means = meansOf(settings, policy, resolver)
      yield* Effect.addFinalizer(() => Effect.sync(() => means.connections.close()))
      return WebhookSender.WebhookSender.of({
        send: (request) =>
          Effect.callback((resume) => {
            const deadline_ms = request.deadline_ms ?? WebhookSender.default_deadline_ms
            const post = new Post(means, request, deadline_ms, (outcome) => resume(Effect.succeed(outcome)))
            return Effect.sync(() => post.cancel())
          }),
        lookUp: (url) => {
          const judged = means.judge(url)
          if (judged.verdict === "refused") return Effect.succeed("refused")
          if (judged.url.addresses !== null) return Effect.succeed("public")
          return Effect.map(
            Effect.promise(() => means.lookUp(judged.url.hostname)),
            (found) =>
              found === "unavailable" ? found : found === "refused" || found === "none" ? "refused" : "public"
          )
        }
      })
    })
  )

// c-ares asks twice within the limit, and never uses a search domain.
const machineResolver = Effect.acquireRelease(
  Effect.sync(() => new DnsResolver({ timeout: 1_500, tries: 2 })),
  (resolver) => Effect.sync(() => resolver.cancel())
)

const meansOf = (settings: Settings, policy: WebhookAddress.Policy, resolver: HostLookUp.Resolver): Means => {
  const connections = new Connections(
    {
      per_host: settings.connections_per_host ?? 256,
      total: settings.connections ?? 4_096,
      idle_ms: settings.idle_ms ?? 10_000
    },
    {
      connect: settings.connect ?? Dial.tcp,
      isFit: (address) => WebhookAddress.judgeAddress(address, policy) === "public",
      secure: Dial.tls(settings.certificate_authorities)
    }
  )
  return {
    judge: remembering((url) => WebhookAddress.judgeUrl(url, policy)),
    lookUp: HostLookUp.make(resolver, policy, settings.look_up_limit_ms),
    connections,
    user_agent: settings.user_agent ?? default_user_agent
  }
}

/** How many judged URLs are cached, because the same few are used over and over. */
const max_judged = 1_000

const remembering = <A>(judge: (url: string) => A): ((url: string) => A) => {
  const judged = new Map<string, A>()
  return (url) => {
    const known = judged.get(url)
    if (known !== undefined) return known
    const verdict = judge(url)
    const [oldest] = judged.size < max_judged ? [] : judged.keys()
    if (oldest !== undefined) judged.delete(oldest)
    judged.set(url, verdict)
    return verdict
  }
}
