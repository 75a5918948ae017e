import { createServer, type Server } from "node:http"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { connect } from "@quotewire/http/client"
import type { Browser, Page } from "playwright-core"
import { startBrowser } from "../../../../test/support/browser.ts"
import { smallest } from "../../../core/src/lines/ExampleApplications.ts"
import { bundleOfPage } from "./bundle.ts"
import { type Serving, serve } from "./serving.ts"

/** What the script of the page leaves for `evaluate`. */
declare const globalThis: { connect: typeof connect }

/** A shop whose page loads the client. */
const shop = async () => {
  const code = await bundleOfPage(fileURLToPath(new URL("page.ts", import.meta.url)))
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js"
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html")
    response.end(isScript ? code : `<!doctype html><title>A shop</title><script type="module" src="/page.js"></script>`)
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const bound = server.address()
  return { server, origin: `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}` }
}

let browser: Browser
let server: Server
let serving: Serving
let page: Page

beforeAll(async () => {
  const [started, opened] = await Promise.all([startBrowser(), shop()])
  browser = started
  server = opened.server
  serving = await serve({ cors_origins: [opened.origin] })
  page = await browser.newPage()
  await page.goto(opened.origin)
  await page.waitForFunction(() => "connect" in globalThis)
})

afterAll(async () => {
  await browser?.close()
  await serving?.close()
  server?.close()
})

describe("a browser page", () => {
  const keysOf = async () => {
    const { id: organization_id } = await serving.quotewire.createOrganization("A shop")
    const keyOf = async (kind: "server" | "widget") =>
      (await serving.quotewire.createKey({ organization_id, environment: "sandbox", kind })).key
    return { server: await keyOf("server"), widget: await keyOf("widget") }
  }

  it("can start a request with a widget key, and get its quotes with the read handle", async () => {
    const keys = await keysOf()
    const host = { base_url: serving.base_url, key: keys.widget }
    const start = await page.evaluate(
      async ({ application, host }) => {
        const client = globalThis.connect(host)
        const { capabilities } = await client.get_capabilities({ line: "renters" })
        const { id, read_handle = "" } = await client.start_quote_request({
          line: "renters",
          request_key: "first",
          consent_receipt_id: "receipt-0001",
          application
        })
        return { id, read_handle, line: capabilities.line }
      },
      { host, application: smallest.renters }
    )
    assert.strictEqual(start.line, "renters")
    const waiting = page.evaluate(
      async ({ host, id, read_handle }) => {
        const client = globalThis.connect(host)
        const { quotes } = await client.wait_for_quotes(id, { read_handle })
        const quote = await client.get_quote({ id: quotes[0]?.id ?? "" }, { read_handle })
        const { status } = await client.cancel_quote_request({ id }, { read_handle })
        return { count: quotes.length, of: quote.quote_request_id, status }
      },
      { host, ...start }
    )
    const sandbox = serving.quotewire.client(keys.server)
    await sandbox.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
    assert.deepStrictEqual(await waiting, { count: 3, of: start.id, status: "cannot_stop" })
  })

  it("can read a refusal's code, status and request ID", async () => {
    const host = { base_url: serving.base_url, key: (await keysOf()).widget }
    const refusal = await page.evaluate(
      (host) =>
        globalThis
          .connect(host)
          .get_quote({ id: "qt_none" })
          .catch(({ code, request_id, status }) => ({ code, status, hasId: request_id.startsWith("req_") })),
      host
    )
    assert.deepStrictEqual(refusal, { code: "not_found", status: 404, hasId: true })
  })

  it("cannot call operations reserved for servers, even with a server key", async () => {
    const host = { base_url: serving.base_url, key: (await keysOf()).server, max_retries: 0 }
    const reason = await page.evaluate(
      (host) =>
        globalThis
          .connect(host)
          .list_events({})
          .catch(({ reason }) => reason),
      host
    )
    assert.strictEqual(reason, "unreachable")
  })
})
