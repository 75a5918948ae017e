import { Access, type Config, Lines, Quotewire } from "@quotewire/core"
import { ConsoleLink, NodeCrypto } from "@quotewire/http"
import { Console, Context, Deferred, Effect, Layer, Option, Redacted } from "effect"
import { Command } from "effect/cli"
import * as CarrierList from "../carriers/CarrierList.ts"
import * as SandboxConnections from "../carriers/SandboxConnections.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as DevSandbox from "../service/DevSandbox.ts"
import * as Host from "../service/Host.ts"
import * as MemoryService from "../service/MemoryService.ts"
import * as StartPage from "../service/StartPage.ts"
import * as Telemetry from "../service/Telemetry.ts"
import * as HostSettings from "../settings/HostSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import { style } from "../terminal/Style.ts"

const flags = { ...HostSettings.flags("127.0.0.0/8,::1/128"), data: Settings.data }

interface DevSettings extends HostSettings.HostSettings {
  /** The folder that stores all data; `None` for a sandbox in memory. */
  readonly data: Option.Option<string>
}

/** `quotewire dev` serves a sandbox, in memory or on a database in a folder: the whole service in one process. */
export const dev = Command.make("dev", reportAllErrors(flags), (settings) =>
  Effect.scoped(serve(settings)).pipe(Effect.provide(Telemetry.layer(settings)))
).pipe(Command.withDescription("Serve a sandbox, in memory or in a folder"))

/** Creates the service and its sandbox in memory. */
const inMemory = Effect.fnUntraced(function* (settings: DevSettings, config: Config, base_url: Effect.Effect<string>) {
  const core = yield* Layer.build(MemoryService.layer(settings, config, base_url))
  const sandbox = yield* DevSandbox.make.pipe(Effect.provideContext(core), Effect.orDie)
  return { core, sandbox }
})

/**
 * Creates the service and its sandbox on a database in a folder. The code for databases is loaded only when it is
 * needed.
 */
const inFolder = Effect.fnUntraced(function* (
  folder: string,
  settings: DevSettings,
  config: Config,
  base_url: Effect.Effect<string>
) {
  const { open } = yield* Effect.promise(() => import("../service/FolderService.ts"))
  return yield* open(folder, settings, config, base_url)
})

const serve = Effect.fnUntraced(function* (settings: DevSettings) {
  const config = yield* ConfigFile.load(settings.config)
  const address = yield* Deferred.make<string>()
  const { core, sandbox } = yield* Option.match(settings.data, {
    onNone: () => inMemory(settings, config, Deferred.await(address)),
    onSome: (folder) => inFolder(folder, settings, config, Deferred.await(address))
  })
  const { keys, operator_token, organization } = sandbox
  yield* Effect.provideContext(SandboxConnections.set(config, organization.id), core)
  const keyless = {
    organization_id: organization.id,
    workspace_id: organization.workspaces.sandbox,
    environment: "sandbox"
  } as const
  const link = yield* ConsoleLink.make(Redacted.make(keys.server)).pipe(Effect.provide(NodeCrypto.layer))
  const { base_url } = yield* Host.serve({
    ...settings,
    logs_calls: yield* Telemetry.isText(settings),
    operators: true,
    console: { link, at_root: true }
  }).pipe(Effect.provideContext(Context.add(core, Access.KeylessWorkspace, keyless)))
  yield* Deferred.succeed(address, base_url)
  const lines = yield* Effect.provideContext(Lines.Lines, core)
  const ready = {
    base_url,
    organization_id: organization.id,
    keys,
    operator_token,
    console_url: consoleUrl(base_url, link),
    data: Option.getOrNull(settings.data),
    lines
  }
  const carriers = yield* Effect.provideContext(Quotewire.carrierIds, core)
  if (settings.json) yield* CarrierList.log(carriers)
  const { bold } = yield* style
  yield* Console.log(settings.json ? StartPage.line(ready) : StartPage.page(ready, CarrierList.text(carriers), bold))
  return yield* Effect.never
})

/**
 * The URL that opens the console and signs in. The code is in the fragment, because browsers do not send it to hosts.
 */
const consoleUrl = (baseUrl: string, { code }: ConsoleLink.ConsoleLink): string =>
  `${baseUrl}/console#link=${Redacted.value(code)}`
