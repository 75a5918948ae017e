import {
  Access,
  Allowance,
  operations,
  PublicUrl,
  Quotewire,
  Retention,
  Seal,
  type Storage,
  type Waiters,
  type WebhookAddress,
  WebhookHeaders
} from "@quotewire/core"
import { CarrierCallbacks, Go, Http, NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Console, Context, Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import { Failed } from "../Failed.ts"
import * as Settings from "../Settings.ts"
import * as StartPage from "../StartPage.ts"

const flags = {
  port: Settings.port,
  host: Settings.host,
  base_url: Settings.base_url,
  cors_origins: Settings.cors_origins,
  json: Settings.json,
  no_limits: Settings.no_limits,
  webhook_allow: Settings.webhook_allow("127.0.0.0/8,::1/128"),
  webhook_header_prefix: Settings.webhook_header_prefix
}

interface DevSettings {
  readonly port: number
  readonly host: string
  readonly base_url: Option.Option<string>
  readonly cors_origins: ReadonlyArray<string>
  readonly json: boolean
  readonly no_limits: boolean
  readonly webhook_allow: WebhookAddress.Policy["allow"]
  readonly webhook_header_prefix: string
}

/** `quotewire dev`: the whole service in this process, everything in memory, with one sandbox to try it in. */
export const dev = Command.make("dev", flags, (settings) => Effect.scoped(serve(settings))).pipe(
  Command.withDescription("Serve a sandbox with everything in memory")
)

// Memory ends somewhere: a process that runs for months holds a month.
const periods: Retention.Periods = { events_days: 30, facts_days: 30, quotes_days: 30, consents_days: 30 }

const serve = Effect.fnUntraced(function* (settings: DevSettings) {
  let base_url = Option.getOrElse(settings.base_url, () => "")
  const core = yield* Layer.build(coreLayer(settings, () => base_url))
  const { organization, keys } = yield* makeSandbox.pipe(Effect.provideContext(core), Effect.orDie)
  const keyless = {
    organization_id: organization.id,
    workspace_id: organization.workspaces.sandbox,
    environment: "sandbox"
  } as const
  const host = yield* Layer.build(hostLayer(settings)).pipe(
    Effect.provideContext(Context.add(core, Access.KeylessWorkspace, keyless)),
    Effect.map(Context.get(Http.Host)),
    Effect.catchTag("CannotListen", ({ message }) => Effect.fail(new Failed({ message })))
  )
  base_url = host.base_url
  const ready = { base_url: host.base_url, organization_id: organization.id, keys }
  yield* Console.log(settings.json ? StartPage.line(ready) : StartPage.page(ready, bold))
  return yield* Effect.never
})

const coreLayer = (settings: DevSettings, base_url: () => string) =>
  Quotewire.worker.pipe(
    Layer.provideMerge(Quotewire.layer),
    Layer.provideMerge(MemoryStorage.layer),
    Layer.provide(Quotewire.sandboxCarriers),
    Layer.provide(Seal.SealKeys.layerEphemeral),
    Layer.provide(
      NodeWebhookSender.layer({
        policy: { allow: settings.webhook_allow, own_addresses: NodeWebhookSender.ownAddresses() }
      })
    ),
    Layer.provide(Layer.succeed(WebhookHeaders.WebhookHeaderPrefix, settings.webhook_header_prefix)),
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(PublicUrl.PublicUrl, base_url)),
    Layer.provide(Layer.succeed(Retention.RetentionPeriods, periods)),
    Layer.provide(
      Layer.succeed(Allowance.AllowanceLimits, settings.no_limits ? Allowance.noLimits : Allowance.standardLimits)
    )
  )

const hostLayer = (settings: DevSettings) =>
  Layer.unwrap(
    Effect.map(Effect.context<Waiters.Waiters>(), (context) =>
      Http.layer<Quotewire.Services | Storage.Storage>({
        operations,
        routes: [Go.route(Quotewire.go), CarrierCallbacks.route(Quotewire.carrierCallback)],
        ready: Quotewire.ready,
        host: settings.host,
        port: settings.port,
        cors_origins: settings.cors_origins,
        wake: Effect.provideContext(Quotewire.wake, context),
        ...(Option.isSome(settings.base_url) && { base_url: settings.base_url.value })
      })
    )
  )

const makeSandbox = Effect.gen(function* () {
  const access = yield* Access.Access
  const organization = yield* access.createOrganization("Development")
  const keyOf = (kind: "server" | "widget" | "platform") =>
    Effect.map(
      access.createKey({ organization_id: organization.id, environment: "sandbox", kind }),
      (issued) => issued.key
    )
  const keys = yield* Effect.all({ server: keyOf("server"), widget: keyOf("widget"), platform: keyOf("platform") })
  return { organization, keys }
})

const bold = (text: string): string => (process.stdout.isTTY ? `\u001b[1m${text}\u001b[0m` : text)
