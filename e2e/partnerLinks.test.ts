import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { type Ids, OperatorTokens } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import axe from "axe-core"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { startBrowser } from "../test/support/browser.ts"
import { failing, type Host, serve } from "./support/consoleHost.ts"

/*
 * Partner links in a real browser: made with a key or a token, and opened without either.
 */

let browser: Browser
let host: Host
let owner: BrowserContext
let partner: BrowserContext
let organization_id: Ids.OrganizationId
let server: { readonly key: string; readonly key_id: string }

beforeAll(async () => {
  ;[browser, host] = await Promise.all([startBrowser(), serve()])
})

afterAll(async () => {
  await browser?.close()
  await host?.quotewire.close()
  host?.server.closeAllConnections()
  host?.server.close()
})

beforeEach(async () => {
  const { createKey, createOrganization } = host.quotewire
  const organization = await createOrganization("Shop")
  organization_id = organization.id
  server = await createKey({ organization_id: organization.id, environment: "sandbox", kind: "server" })
  await owner?.close()
  await partner?.close()
  owner = await browser.newContext()
  partner = await browser.newContext()
})

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name })

/** Starts a request and lets its carriers answer. */
const quoted = async (request_key = "shared") => {
  const client = host.quotewire.client(server.key)
  const { id } = await client.start_quote_request({
    line: "renters",
    request_key,
    consent_receipt_id: "receipt-0001",
    application: ExampleApplications.smallest.renters,
    scenario: "quotes_ready"
  })
  await client.advance_time({ seconds: 60 }, { idempotency_key: request_key })
  return id
}

/** Signs in, opens a page and makes a link there, as its owner does. */
const linkFrom = async (key: string, path: string): Promise<string> => {
  const page = await owner.newPage()
  await page.goto(`${host.address}/console${path}`)
  await page.getByLabel("Server key or operator token").fill(key)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("Share with a partner").click()
  await page.getByLabel("Expires after").selectOption("1")
  await page.getByRole("button", { name: "Create a link" }).click()
  const link = await page.getByText("/console/link/").textContent()
  return link ?? assert.fail("no link")
}

/** Opens an address without a key, and notes every address that the browser asks for. */
const open = async (address: string) => {
  const page = await partner.newPage()
  const asked: Array<string> = []
  page.on("request", (request) => {
    asked.push(`${request.url()} ${request.headers().referer ?? ""}`)
  })
  await page.goto(address)
  return { page, asked }
}

const tokenOf = (link: string): string => link.split("#")[1] ?? assert.fail("no token")

const isAccessible = async (page: Page): Promise<void> => {
  await page.evaluate(axe.source)
  const findings = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))"
  assert.deepStrictEqual(await page.evaluate(findings), [])
}

describe("a partner link's page", () => {
  it("shows a request with its quotes and events read-only, and keeps the link's token out of URLs", async () => {
    const link = await linkFrom(server.key, `/requests/${await quoted()}`)
    const { asked, page } = await open(link)
    await heading(page, "Renters").waitFor()
    await page.getByText("Completed").first().waitFor()
    await page.getByText("quote_request.completed").waitFor()
    await page.getByRole("rowheader", { name: "Per month" }).waitFor()
    assert.strictEqual(await page.getByRole("navigation").count(), 0)
    assert.strictEqual(await page.getByText("Share with a partner").count(), 0)
    assert.notInclude(page.url(), tokenOf(link))
    assert.notInclude(asked.join("\n"), tokenOf(link))
    await page.reload()
    await heading(page, "Renters").waitFor()
    await isAccessible(page)
  })

  it("shows a webhook endpoint with its deliveries and attempts, but no actions", async () => {
    const receiver = await failing()
    const { id } = await host.quotewire
      .client(server.key)
      .create_event_subscription(
        { url: receiver.url, event_types: ["quote_request.queued"] },
        { idempotency_key: "hook" }
      )
    await quoted()
    const { page } = await open(await linkFrom(server.key, `/webhooks/${id}`))
    await heading(page, "Endpoint").waitFor()
    await page.getByRole("link", { name: "quote_request.queued" }).click()
    await page.getByText("Attempt 1", { exact: true }).waitFor()
    await page.getByText("500").first().waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Send" }).count(), 0)
    assert.strictEqual(await page.getByText(new URL(receiver.url).host).count(), 0)
    await isAccessible(page)
    await receiver.close()
  })

  it("shows nothing for an expired, altered, incomplete or mismatched link", async () => {
    const id = await quoted()
    const link = await linkFrom(server.key, `/requests/${id}`)
    const shows = async (address: string, says: string) => {
      const { page } = await open(address)
      await heading(page, "This link shows nothing").waitFor()
      await page.getByText(says).waitFor()
      assert.strictEqual(await page.getByRole("table").count(), 0)
      await page.close()
    }
    await shows(`${link.slice(0, -1)}${link.endsWith("A") ? "B" : "A"}`, "has expired, or was altered")
    await shows(link.split("#")[0] ?? "", "is incomplete")
    await shows(link + "a".repeat(5_000), "is incomplete")
    await shows(link.replace(id, await quoted("another")), "is for a different page")
    await host.quotewire.revokeKey(server.key_id)
    await shows(link, "has expired, or was altered")
  })

  it("opens from a link that an operator created", async () => {
    const id = await quoted()
    const { token } = await host.quotewire.run(
      OperatorTokens.OperatorTokens.use((tokens) =>
        tokens.create({ name: "Support desk", scopes: ["read", "write"], organization_id })
      )
    )
    const { page } = await open(await linkFrom(token, `/requests/${id}`))
    await heading(page, "Renters").waitFor()
    await page.getByText("quote_request.completed").waitFor()
  })
})
