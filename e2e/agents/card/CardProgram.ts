import { randomUUID } from "node:crypto"
import { ExampleApplications } from "@quotewire/core/testing"
import { connect } from "@quotewire/http/client"
import { Context, Effect, Layer } from "effect"
import type { FrameLocator, Page } from "playwright-core"
import { startBrowser } from "../../../test/support/browser.ts"
import { AgentHosts } from "../host.ts"
import type { Program, Showing } from "./page.ts"
import { serveProgram } from "./serve.ts"

/** The state that the page's script leaves for `evaluate`. */
declare const globalThis: { program: Program }

export type ToolResult = Parameters<Program["send"]>[0]

/** An agent program in a browser that shows tools' pages, and a host that it calls. */
export class CardProgram extends Context.Service<
  CardProgram,
  {
    readonly page: Page
    /** The tool's page within the program. */
    readonly card: FrameLocator
    /** Requests to addresses other than the program's own and the host's. */
    readonly strays: ReadonlyArray<string>
    /** Shows the page of a tool, and waits until it is ready for results. */
    readonly open: (tool: string, showing?: Partial<Pick<Showing, "context" | "opensLinks">>) => Effect.Effect<void>
    readonly call: (name: string, args: Record<string, unknown>) => Effect.Effect<ToolResult>
    readonly send: (result: ToolResult) => Effect.Effect<void>
    readonly change: (context: Showing["context"]) => Effect.Effect<void>
    readonly cancel: Effect.Effect<void>
    /** The addresses that the program was asked to open, once there is one. */
    readonly opened: Effect.Effect<ReadonlyArray<string>>
    /** Starts a request that plays a scenario; no carrier has answered yet. */
    readonly start: (line: "personal_auto" | "renters", scenario: string) => Effect.Effect<string>
    readonly advance: (seconds: number) => Effect.Effect<unknown>
  }
>()("e2e/CardProgram") {}

const context: Showing["context"] = { theme: "light", timeZone: "America/Chicago" }

const make = Effect.gen(function* () {
  const { base_urls, keys } = yield* AgentHosts
  const [base_url] = base_urls
  const [browser, served] = yield* Effect.all(
    [
      Effect.acquireRelease(Effect.promise(startBrowser), (started) => Effect.promise(() => started.close())),
      Effect.acquireRelease(Effect.promise(serveProgram), ({ close }) => Effect.sync(close))
    ],
    { concurrency: 2 }
  )
  const page = yield* Effect.promise(() => browser.newPage())
  const strays: Array<string> = []
  const known = [served.address, served.sandbox, `${base_url}/v1/mcp`, "about:"]
  page.on("request", (request) => {
    if (!known.some((address) => request.url().startsWith(address))) strays.push(request.url())
  })
  yield* Effect.promise(() => page.goto(served.address))
  yield* Effect.promise(() => page.waitForFunction(() => "program" in globalThis))

  const rest = connect({ base_url, key: keys.server })
  return CardProgram.of({
    page,
    card: page.frameLocator("iframe").frameLocator("iframe"),
    strays,
    open: (tool, { context: given = context, opensLinks = true } = {}) =>
      Effect.promise(() =>
        page.evaluate((showing) => globalThis.program.open(showing), {
          endpoint: `${base_url}/v1/mcp`,
          key: keys.server,
          sandbox: served.sandbox,
          tool,
          context: given,
          opensLinks
        })
      ),
    call: (name, args) =>
      Effect.promise(() =>
        page.evaluate(({ args: sent, name: tool }) => globalThis.program.call(tool, sent), { name, args })
      ),
    // As text, because the result type is nested too deeply for the browser driver.
    send: (result) =>
      Effect.promise(() => page.evaluate((text) => globalThis.program.send(JSON.parse(text)), JSON.stringify(result))),
    change: (next) => Effect.promise(() => page.evaluate((changed) => globalThis.program.change(changed), next)),
    cancel: Effect.promise(() => page.evaluate(() => globalThis.program.cancel())),
    opened: Effect.promise(async () => {
      await page.waitForFunction(() => globalThis.program.opened().length > 0)
      return page.evaluate(() => globalThis.program.opened())
    }),
    start: (line, scenario) =>
      Effect.promise(async () => {
        const { personal_auto, renters } = ExampleApplications.smallest
        const common = { scenario, request_key: randomUUID(), consent_receipt_id: "receipt-0001" }
        const started = await rest.start_quote_request(
          line === "renters"
            ? { ...common, line, application: renters }
            : { ...common, line, application: personal_auto, credit_disclosure_receipt_id: "receipt-0002" }
        )
        return started.id
      }),
    advance: (seconds) => Effect.promise(() => rest.advance_time({ seconds }))
  })
})

/** Starts a browser with the program in it. */
export const cardProgram: Layer.Layer<CardProgram, never, AgentHosts> = Layer.effect(CardProgram, make)
