import { Access, Lines, OperatorToken, OperatorTokens, Quotewire } from "@quotewire/core"
import { ConsoleLink, NodeCrypto } from "@quotewire/http"
import { Console, Context, Deferred, Effect, Layer, Redacted } from "effect"
import { Command } from "effect/cli"
import * as CarrierList from "../carriers/CarrierList.ts"
import * as SandboxConnections from "../carriers/SandboxConnections.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Host from "../service/Host.ts"
import * as MemoryService from "../service/MemoryService.ts"
import * as StartPage from "../service/StartPage.ts"
import * as Telemetry from "../service/Telemetry.ts"
import * as HostSettings from "../settings/HostSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { style } from "../terminal/Style.ts"

/** `quotewire dev` serves an in-memory sandbox: the whole service in one process. */
export const dev = Command.make("dev", reportAllErrors(HostSettings.flags("127.0.0.0/8,::1/128")), (settings) =>
  Effect.scoped(serve(settings)).pipe(Effect.provide(Telemetry.layer(settings)))
).pipe(Command.withDescription("Serve a sandbox in memory"))

const serve = Effect.fnUntraced(function* (settings: HostSettings.HostSettings) {
  const config = yield* ConfigFile.load(settings.config)
  const address = yield* Deferred.make<string>()
  const core = yield* Layer.build(MemoryService.layer(settings, config, Deferred.await(address)))
  const { organization, keys, operator_token } = yield* makeSandbox.pipe(Effect.provideContext(core), Effect.orDie)
  yield* Effect.provideContext(SandboxConnections.set(config, organization.id), core)
  const keyless = {
    organization_id: organization.id,
    workspace_id: organization.workspaces.sandbox,
    environment: "sandbox"
  } as const
  const link = yield* ConsoleLink.make(Redacted.make(keys.server)).pipe(Effect.provide(NodeCrypto.layer))
  const { base_url } = yield* Host.serve({ ...settings, operators: true, console: { link, at_root: true } }).pipe(
    Effect.provideContext(Context.add(core, Access.KeylessWorkspace, keyless))
  )
  yield* Deferred.succeed(address, base_url)
  const lines = yield* Effect.provideContext(Lines.Lines, core)
  const ready = {
    base_url,
    organization_id: organization.id,
    keys,
    operator_token,
    console_url: consoleUrl(base_url, link),
    lines
  }
  const carriers = yield* Effect.provideContext(Quotewire.carrierIds, core)
  if (settings.json) yield* CarrierList.log(carriers)
  const { bold } = yield* style
  yield* Console.log(settings.json ? StartPage.line(ready) : StartPage.page(ready, CarrierList.text(carriers), bold))
  return yield* Effect.never
})

/** The address that opens the console and signs in. The code is in the fragment, which browsers do not send to hosts. */
const consoleUrl = (baseUrl: string, { code }: ConsoleLink.ConsoleLink): string =>
  `${baseUrl}/console#link=${Redacted.value(code)}`

const makeSandbox = Effect.gen(function* () {
  const access = yield* Access.Access
  const organization = yield* access.createOrganization("Development")
  const keyOf = (kind: "server" | "widget" | "platform") =>
    Effect.map(
      access.createKey({ organization_id: organization.id, environment: "sandbox", kind }),
      (issued) => issued.key
    )
  const keys = yield* Effect.all({ server: keyOf("server"), widget: keyOf("widget"), platform: keyOf("platform") })
  const tokens = yield* OperatorTokens.OperatorTokens
  const { token: operator_token } = yield* tokens.create({
    name: "quotewire dev",
    scopes: OperatorToken.OperatorScope.literals
  })
  return { organization, keys, operator_token }
})
