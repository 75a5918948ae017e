import { createServer, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { afterAll, afterEach, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import {
  type Carrier,
  defineCarrier,
  type Embedded,
  embed,
  Money,
  OperatorTokens,
  Reply,
  WebhookAddress
} from "@quotewire/core"
import { NodeWebhookSender, nodeHandler } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import type { Browser, Locator, Page } from "playwright-core"
import { startBrowser } from "../test/support/browser.ts"
import * as Certificate from "../test/support/certificate.ts"

/*
 * Support gets the question "quote X never came", with the id of the request. The cause must be at most four clicks away, in the
 * console, without a terminal or a database.
 */

const maxClicks = 4

/** Carriers, each with its own reason to give no quote. */
const common = { environments: ["sandbox"], lines: { renters: { states: ["NY"], idempotent: true } } } as const
const renters = { ...common, handoff_hosts: ["carrier.example"] } as const
const offer = { offer_ref: "one", product: "Renters", premium: Money.dollars(180), term_months: 12 }

const declining = defineCarrier({
  ...renters,
  id: "naic:10001",
  name: "Declining Mutual",
  ask: () => Reply.decline("prior_claims", "Too many claims in three years.")
})
const wrong = defineCarrier({
  ...renters,
  id: "naic:10002",
  name: "Wrong Mutual",
  ask: () => Reply.offers([{ ...offer, handoff_url: "https://elsewhere.example/quote" }])
})
const silent = defineCarrier({
  ...renters,
  id: "naic:10003",
  name: "Silent Mutual",
  lines: { renters: { ...renters.lines.renters, idempotent: false, attempt_timeout_ms: 1_000 } },
  ask: () => new Promise<never>(() => {})
})
const failing = defineCarrier({
  ...renters,
  id: "naic:10004",
  name: "Failing Mutual",
  ask: () => Reply.failed("carrier_error")
})
const unconnected = defineCarrier({
  ...renters,
  id: "naic:10005",
  name: "Unconnected Mutual",
  connection: { api_key: "secret" },
  ask: () => Reply.offers([{ ...offer, handoff_url: "https://carrier.example/quote" }])
})

interface Host {
  readonly quotewire: Embedded
  readonly server: Server
  readonly address: string
}

const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }

const serve = async (carriers: ReadonlyArray<Carrier.CarrierAdapter>): Promise<Host> => {
  const quotewire = embed({
    storage: MemoryStorage.layer,
    webhooks: NodeWebhookSender.layer({ policy }),
    carriers,
    fictional_carriers: false,
    // The tests are about the errors of these carriers.
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  })
  const server = createServer(nodeHandler(quotewire, { console: true, operators: true }))
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  return { quotewire, server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

let browser: Browser
let host: Host
let page: Page
let clicks: number
let key: string
let token: string

beforeAll(async () => {
  browser = await startBrowser()
})

afterAll(() => browser?.close())

/** A host with these carriers, an organization and a token for support. */
const prepare = async (...carriers: ReadonlyArray<Carrier.CarrierAdapter>): Promise<void> => {
  host = await serve(carriers)
  const { quotewire } = host
  const { id: organization_id } = await quotewire.createOrganization("Shop")
  ;({ key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" }))
  ;({ token } = await quotewire.run(
    OperatorTokens.OperatorTokens.use((tokens) => tokens.create({ name: "Support", scopes: ["read", "write"] }))
  ))
  clicks = 0
  page = await (await browser.newContext()).newPage()
}

afterEach(async () => {
  await page?.context().close()
  await host?.quotewire.close()
  host?.server.closeAllConnections()
  host?.server.close()
})

const click = async (target: Locator): Promise<void> => {
  clicks++
  await target.click()
}

/** Signs in as support does in the morning, and opens the request in question with one click. */
const open = async (id: string): Promise<void> => {
  await page.goto(`${host.address}/console`)
  await page.getByLabel("Server key or operator token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByLabel("Part of an id").fill(id)
  await page.getByLabel("Part of an id").press("Enter")
  await click(
    page
      .getByRole("row", { name: id.slice(-4) })
      .getByRole("link")
      .first()
  )
}

const start = async (request_key: string): Promise<string> => {
  const { id } = await host.quotewire.client(key).start_quote_request({
    line: "renters",
    request_key,
    consent_receipt_id: "receipt-0001",
    application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
  })
  return id
}

/** A request whose collection has ended. */
const ended = async (request_key: string): Promise<string> => {
  const id = await start(request_key)
  await host.quotewire.client(key).advance_time({ seconds: 120 }, { idempotency_key: request_key })
  return id
}

/** A carrier's row that contains this text. */
const said = (carrier: string, text: RegExp) =>
  page.getByRole("row").filter({ hasText: carrier }).filter({ hasText: text }).first()

const found = async (cause: Locator): Promise<void> => {
  await cause.waitFor()
  assert.isAtMost(clicks, maxClicks)
}

/** Parked events name the class of the error: its message may hold facts. */
class LedgerClosed extends Error {
  override readonly name = "LedgerClosed"
}

describe("support staff in the console", () => {
  it("see that the carrier of a missing quote declined", async () => {
    await prepare(declining)
    await open(await ended("declined"))
    await found(said("naic:10001", /prior claims/i))
  })

  it("see which rule the offer of a missing quote broke", async () => {
    await prepare(wrong)
    await open(await ended("wrong"))
    await found(said("naic:10002", /unreadable answer/i))
    await click(said("naic:10002", /exchange/i).getByText("All"))
    await found(page.getByText(/handoff_url/).first())
  })

  it("see that the carrier of a missing quote did not answer", async () => {
    await prepare(silent)
    await open(await ended("silent"))
    await found(said("naic:10003", /timeout/i))
  })

  it("see that the carrier's circuit was open", async () => {
    await prepare(failing)
    for (let n = 0; n < 20; n++) await ended(`failing-${n}`)
    await open(await ended("circuit"))
    await found(said("naic:10004", /circuit open/i))
    await click(page.getByRole("link", { name: "Carriers" }))
    await found(
      page
        .getByRole("row")
        .filter({ hasText: "naic:10004" })
        .getByText(/of 20 asks failed/)
    )
  })

  it("see that the organization has no connection to the carrier", async () => {
    await prepare(unconnected)
    await open(await ended("unconnected"))
    await found(said("naic:10005", /not appointed/i))
  })

  it("see that the webhook endpoint has an untrusted certificate", async () => {
    await prepare(declining)
    const client = host.quotewire.client(key)
    const endpoint = createTlsServer(Certificate.make("127.0.0.1"), (_, response) => void response.end())
    await new Promise<void>((resolve) => void endpoint.listen(0, "127.0.0.1", resolve))
    const url = `https://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hooks`
    await client.create_event_subscription({ url, event_types: ["quote_request.queued"] }, { idempotency_key: "hook" })
    const id = await start("told")
    const [subscription] = (await client.list_event_subscriptions({})).event_subscriptions
    await vi.waitUntil(
      async () =>
        (await client.list_event_deliveries({ id: subscription?.id ?? "" })).deliveries[0]?.status === "retrying",
      { timeout: 20_000 }
    )
    await open(id)
    await found(said(subscription?.id ?? "", /certificate is not trusted/i))
    // Its owner learns only that there was no response: a cause could tell which ports of a network are open.
    const { deliveries } = await client.list_event_deliveries({ id: subscription?.id ?? "" })
    const own = [
      await client.get_event_delivery({ id: subscription?.id ?? "", event_id: deliveries[0]?.event_id ?? "" }),
      await client.get_quote_request_timeline({ id, limit: 100 })
    ]
    assert.include(JSON.stringify(own), `"response_status_code":null`)
    assert.notMatch(JSON.stringify(own), /failure|tls/)
    endpoint.close()
  })

  it("see that delivery to the webhook endpoint was turned off", async () => {
    await prepare(declining)
    const client = host.quotewire.client(key)
    const closed = createServer()
    await new Promise<void>((resolve) => void closed.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/hooks`
    await new Promise<void>((resolve) => void closed.close(() => resolve()))
    await client.create_event_subscription({ url, event_types: ["quote_request.queued"] }, { idempotency_key: "hook" })
    const day = 86_400
    await start("told-before")
    for (const name of ["day", "week"]) {
      await client.advance_time({ seconds: name === "day" ? 2 * day : 6 * day }, { idempotency_key: name })
    }
    const id = await start("told")
    await vi.waitUntil(
      async () => (await client.list_event_subscriptions({})).event_subscriptions[0]?.delivery_enabled === false,
      { timeout: 20_000 }
    )
    await open(id)
    await found(
      page
        .getByRole("row")
        .filter({ hasText: /delivery/i })
        .getByText(/failed|cancelled/i)
        .first()
    )
  })

  it("see that a consumer's handler failed, and with which error", async () => {
    await prepare(declining)
    const { quotewire } = host
    const stop = quotewire.consume(
      "billing",
      async () => {
        throw new LedgerClosed()
      },
      { max_attempts: 1 }
    )
    await stop.ready
    const id = await start("parked")
    await vi.waitUntil(async () => (await quotewire.listParkedEvents("billing")).length > 0, {
      timeout: 110_000,
      interval: 500
    })
    await stop()
    await open(id)
    await click(page.getByRole("link", { name: "Consumers" }))
    await click(page.getByRole("link", { name: "billing" }))
    await found(page.getByText("LedgerClosed").first())
  })
})
