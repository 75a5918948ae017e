import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { embed, WebhookAddress } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { NodeWebhookSender, nodeHandler } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import type { Page } from "playwright-core"
import { startBrowser } from "../test/support/browser.ts"

/*
 * Takes the screenshots for the console guide, from a temporary sandbox: `npm run screenshots`.
 */

const folder = fileURLToPath(new URL("../docs/guides/images/", import.meta.url))

const listen = async (server: ReturnType<typeof createServer>): Promise<string> => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
}

/** A webhook endpoint that fails once. */
const endpoint = () => {
  let calls = 0
  return createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(++calls === 2 ? 500 : 204).end())
  })
}

const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }
const quotewire = embed({ storage: MemoryStorage.layer, webhooks: NodeWebhookSender.layer({ policy }) })
const host = createServer(nodeHandler(quotewire, { console: true }))
const hooks = endpoint()
const address = await listen(host)
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)
const idempotent = (name: string) => ({ idempotency_key: name })

const event_types = ["quote.created", "quote_request.completed"] as const
await client.create_event_subscription({ url: `${await listen(hooks)}/hooks`, event_types }, idempotent("hook"))
const { id } = await client.start_quote_request({
  line: "personal_auto",
  request_key: "picture",
  consent_receipt_id: "receipt-0001",
  credit_disclosure_receipt_id: "receipt-0002",
  scenario: "some_carriers_silent",
  application: {
    ...ExampleApplications.smallest.personal_auto,
    prior_insurance: { status: "insured", months_continuous: 24 }
  }
})
await client.advance_time({ seconds: 70 }, idempotent("minute"))

const browser = await startBrowser()
mkdirSync(folder, { recursive: true })

const signedIn = async (colorScheme: "light" | "dark"): Promise<Page> => {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1180, height: 900 } })
  const page = await context.newPage()
  await page.goto(`${address}/console`)
  await page.getByLabel("Server key or operator token").fill(key)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor()
  return page
}

/** Takes a screenshot when a text is visible. */
const take = async (page: Page, name: string, path: string, text: string): Promise<void> => {
  await page.goto(`${address}/console/${path}`)
  await page.getByText(text).first().waitFor()
  await page.waitForLoadState("networkidle")
  writeFileSync(`${folder}${name}.png`, await page.screenshot())
}

try {
  const light = await signedIn("light")
  await take(light, "console-request", `requests/${id}`, "Per month")
  await take(light, "console-try", "try", "Facts")
  const { event_subscriptions } = await client.list_event_subscriptions({})
  const subscription = event_subscriptions[0]?.id ?? ""
  const { deliveries } = await client.list_event_deliveries({ id: subscription, limit: 100 })
  const attempts = await Promise.all(
    deliveries.map(({ event_id }) => client.get_event_delivery({ id: subscription, event_id }))
  )
  const retried = attempts.find((delivery) => delivery.attempts.length > 1) ?? attempts[0]
  await take(await signedIn("dark"), "console-delivery", `webhooks/${subscription}/${retried?.event_id}`, "Attempt 1")
} finally {
  await browser.close()
  await quotewire.close()
  for (const server of [host, hooks]) {
    server.closeAllConnections()
    server.close()
  }
}
