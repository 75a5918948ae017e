import { afterAll, assert, beforeAll, beforeEach, describe, it, vi } from "@effect/vitest"
import { OperatorTokens } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import axe from "axe-core"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { startBrowser } from "../test/support/browser.ts"
import { failing, type Host, serve } from "./support/consoleHost.ts"

/*
 * The console in a real browser, on a host in this process. Only the sandbox's clock moves.
 */

let browser: Browser
let host: Host
let context: BrowserContext
let page: Page
let keys: { readonly server: string; readonly widget: string }

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
  const { id: organization_id } = await createOrganization("Shop")
  const keyOf = async (kind: "server" | "widget") =>
    (await createKey({ organization_id, environment: "sandbox", kind })).key
  keys = { server: await keyOf("server"), widget: await keyOf("widget") }
  await context?.close()
  context = await browser.newContext()
  page = await context.newPage()
})

const heading = (name: string) => page.getByRole("heading", { level: 1, name })

const signIn = async (key: string, path = ""): Promise<void> => {
  await page.goto(`${host.address}/console${path}`)
  await page.getByLabel("Server key or operator token").fill(key)
  await page.getByRole("button", { name: "Sign in" }).click()
}

const start = (scenario: string, request_key = `console-${scenario}`) =>
  host.quotewire.client(keys.server).start_quote_request({
    line: "renters",
    request_key,
    consent_receipt_id: "receipt-0001",
    application: ExampleApplications.smallest.renters,
    scenario
  })

describe("the console", () => {
  it("signs in with a key, keeps the key out of the URL, and forgets the key on sign-out", async () => {
    await signIn(keys.server)
    await heading("Requests").waitFor()
    assert.notInclude(page.url(), keys.server)
    await page.reload()
    await heading("Requests").waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await heading("Sign in").waitFor()
    await page.reload()
    await heading("Sign in").waitFor()
  })

  it("shows the API's message for a wrong key or a key that is not a server key", async () => {
    await signIn(`${keys.server.slice(0, -1)}!`)
    await page.getByRole("alert").waitFor()
    await signIn(keys.widget)
    const alert = page.getByRole("alert")
    await alert.waitFor()
    assert.isNotEmpty(await alert.textContent())
    await heading("Sign in").waitFor()
  })

  it("starts a request with a scenario, and shows quotes as the clock advances", async () => {
    await signIn(keys.server)
    await page.getByRole("link", { name: "Try" }).click()
    await page.getByLabel("What should happen").selectOption("some_carriers_silent")
    await page.getByRole("button", { name: "Start" }).click()
    await heading("Renters").waitFor()
    await page.getByText("In progress").waitFor()
    await page.getByRole("button", { name: "Ask the carriers" }).click()
    await page.getByRole("button", { name: "Next carrier answers" }).click()
    await page.getByRole("button", { name: "+1 min" }).click()
    await page.getByText("Completed").first().waitFor()
    await page.getByRole("button", { name: "Next quote expires" }).waitFor()
    const [first] = (await host.quotewire.client(keys.server).list_quote_requests({})).quote_requests
    const { quotes } = await host.quotewire
      .client(keys.server)
      .get_quote_request({ id: first?.id ?? "", wait_seconds: 0 })
    assert.isNotEmpty(quotes)
    await page.getByText(`${quotes.length} quote`).first().waitFor()
    for (const { price, source } of quotes) {
      await page.getByRole("columnheader", { name: source.carrier.name }).waitFor()
      const dollars = ((price.comparison?.amount.amount_minor ?? 0) / 100).toFixed(2)
      await page
        .getByRole("cell", { name: `$${dollars}` })
        .first()
        .waitFor()
    }
    await page.getByText("No answer").first().waitFor()
    await page.getByText("quote_request.completed").waitFor()
  })

  it("shows each failed attempt of a delivery, and resends the delivery", async () => {
    const receiver = await failing()
    const client = host.quotewire.client(keys.server)
    await client.create_event_subscription(
      { url: receiver.url, event_types: ["quote_request.queued"] },
      { idempotency_key: "hook" }
    )
    const { id } = await start("waits_in_queue")
    await signIn(keys.server, `/requests/${id}`)
    await page.getByText("Retrying").first().waitFor()
    await page.getByRole("link", { name: new URL(receiver.url).host }).click()
    await page.getByText("Attempt 1").waitFor()
    await page.getByText("500").first().waitFor()
    receiver.answer(204)
    await page.getByRole("button", { name: "Send again" }).click()
    await page.getByText("Delivered").first().waitFor()
    await receiver.close()
  })

  it("counts deliveries before it resends them, and can pause and resume the recovery", async () => {
    const receiver = await failing()
    receiver.answer(204)
    const client = host.quotewire.client(keys.server)
    const { id } = await client.create_event_subscription(
      { url: receiver.url, event_types: ["quote_request.queued"] },
      { idempotency_key: "hook" }
    )
    for (const name of ["one", "two", "three"]) await start("waits_in_queue", name)
    await vi.waitUntil(
      async () => {
        const { deliveries } = await client.list_event_deliveries({ id })
        return deliveries.length === 3 && deliveries.every(({ status }) => status === "succeeded")
      },
      { timeout: 20_000 }
    )
    await signIn(keys.server, `/webhooks/${id}`)
    await page.getByRole("link", { name: "Resend many deliveries" }).click()
    await page.getByRole("button", { name: "Preview" }).click()
    await page.getByText("No delivery matches.").waitFor()
    await page.getByLabel("succeeded").check()
    await page.getByLabel("Deliveries per minute").fill("1")
    await page.getByRole("button", { name: "Preview" }).click()
    await page.getByText("3 deliveries, about 3 min at 1 per minute").waitFor()
    await page.getByRole("button", { name: "Send 3 deliveries again" }).click()
    await page.getByRole("button", { name: "Pause" }).click()
    await page.getByText("Paused").waitFor()
    await page.getByRole("button", { name: "Resume" }).click()
    await page.getByText("Running").waitFor()
    await client.advance_time({ seconds: 600 }, { idempotency_key: "ten-minutes" })
    await page.getByText("3 of 3").waitFor()
    await page.getByText("Done").waitFor()
    await receiver.close()
  })

  it("adds an endpoint once even if the button is clicked repeatedly, and shows the secret once", async () => {
    const receiver = await failing()
    await signIn(keys.server, "/webhooks")
    await page.getByLabel("Address").fill(receiver.url)
    await page.getByRole("button", { name: "Add the endpoint" }).dblclick()
    const secret = await page.getByText(/^whsec_/).textContent()
    assert.match(secret ?? "", /^whsec_\S{20,}$/)
    await page.getByRole("link", { name: receiver.url }).waitFor()
    const { event_subscriptions } = await host.quotewire.client(keys.server).list_event_subscriptions({})
    assert.lengthOf(event_subscriptions, 1)
    await page.reload()
    await page.getByRole("link", { name: receiver.url }).waitFor()
    assert.strictEqual(await page.getByText(/^whsec_/).count(), 0)
    await receiver.close()
  })

  it("lists older requests without gaps while new requests arrive", async () => {
    const client = host.quotewire.client(keys.server)
    const begin = async (name: string) => {
      const { id } = await client.start_quote_request({
        line: "renters",
        request_key: name,
        consent_receipt_id: "receipt-0001",
        application: ExampleApplications.smallest.renters,
        scenario: "waits_in_queue"
      })
      return id
    }
    for (let n = 0; n < 60; n++) await begin(`old-${n}`)
    await signIn(keys.server)
    await page.getByRole("button", { name: "Older requests" }).click()
    const rows = page.locator("tbody tr")
    await rows.nth(59).waitFor()
    for (let n = 0; n < 5; n++) await begin(`new-${n}`)
    // The first page follows by itself, and moves five requests off its end.
    await rows.nth(64).waitFor()
    assert.strictEqual(await rows.count(), 65)
  })

  it("links a call to its quote request, and a quote request to its calls", async () => {
    const { id } = await start("quotes_ready")
    await signIn(keys.server, "/calls")
    await page.getByRole("link", { name: "start_quote_request" }).click()
    await heading("Call").waitFor()
    await page.getByRole("link", { name: id }).click()
    await heading("Renters").waitFor()
    await page.getByRole("link", { name: "start_quote_request" }).click()
    await heading("Call").waitFor()
  })

  it("shows operators any organization's request and exchanges, and adds the access to the audit log", async () => {
    const { id } = await start("zero_quotes")
    await host.quotewire.client(keys.server).advance_time({ seconds: 90 }, { idempotency_key: "minute" })
    const token = await operatorToken(["read", "facts"])
    await page.goto(`${host.address}/console`)
    await page.getByLabel("Server key or operator token").fill(token)
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("link", { name: "Ended without a quote, last day" }).click()
    await page
      .getByRole("row", { name: id.slice(-4) })
      .getByRole("link")
      .click()
    await heading("What happened").waitFor()
    await page.getByText("Declined").first().waitFor()
    await page.getByRole("button", { name: "Read the exchanges" }).click()
    await page.getByRole("button", { name: "Read the exchanges" }).waitFor({ state: "detached" })
    await page.getByRole("link", { name: "Audit log" }).click()
    await page.getByRole("cell", { name: "read quote request exchanges" }).first().waitFor()
    for (const name of ["Carriers", "Consumers", "Work"]) {
      await page.getByRole("link", { name, exact: true }).click()
      await heading(name).waitFor()
    }
  })

  it("refuses to show exchanges to an operator without the facts scope", async () => {
    const { id } = await start("quotes_ready")
    await page.goto(`${host.address}/console/requests/${id}`)
    await page.getByLabel("Server key or operator token").fill(await operatorToken(["read"]))
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("button", { name: "Read the exchanges" }).click()
    await page.getByRole("alert").getByText("facts").first().waitFor()
  })

  it("says when the host is unreachable, and continues once the host is back", async () => {
    const { id } = await start("quotes_ready")
    await signIn(keys.server, `/requests/${id}`)
    await heading("Renters").waitFor()
    await context.setOffline(true)
    await page.getByRole("link", { name: "Calls", exact: true }).click()
    await page.getByRole("alert").first().waitFor()
    await context.setOffline(false)
    await page.getByRole("button", { name: "Try again" }).first().click()
    await page.getByRole("link", { name: "start_quote_request" }).waitFor()
  })

  it("renders hostile text as plain text, and opens no address outside the console", async () => {
    await signIn(keys.server, "/requests/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    await page.getByRole("alert").waitFor()
    assert.strictEqual(await page.locator("img").count(), 0)
    await page.goto(`${host.address}/console/javascript:alert(1)`)
    await heading("No such page").waitFor()
  })

  it("cannot be framed, and loads nothing from other hosts", async () => {
    const answer = await fetch(`${host.address}/console`)
    const policy = answer.headers.get("content-security-policy") ?? ""
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
      assert.include(policy, rule)
    assert.strictEqual(answer.headers.get("referrer-policy"), "no-referrer")
    assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    const asked: Array<string> = []
    const errors: Array<string> = []
    page.on("request", (request) => asked.push(request.url()))
    page.on("console", (message) => errors.push(message.text()))
    await signIn(keys.server)
    await heading("Requests").waitFor()
    for (const url of asked) assert.isTrue(url.startsWith(host.address) || url.startsWith("data:"), url)
    assert.deepStrictEqual(errors, [])
  })

  it("is at most 120 kB when compressed", async () => {
    const sizes = await Promise.all(
      ["console", "console/console.js", "console/console.css"].map(async (path) => {
        const answer = await fetch(`${host.address}/${path}`, { headers: { "accept-encoding": "gzip" } })
        const bytes = (await answer.arrayBuffer()).byteLength
        assert.isAbove(bytes, 0)
        // `fetch` has decompressed the body; the header shows what was sent.
        return Number(answer.headers.get("content-length") ?? bytes)
      })
    )
    const sum = sizes.reduce((all, size) => all + size, 0)
    assert.isBelow(sum, 120_000)
  })

  it("fills the sandbox key into the API reference until sign-out", async () => {
    await signIn(keys.server)
    await heading("Requests").waitFor()
    await page.getByRole("link", { name: "API reference" }).click()
    await page.getByText("Start a quote request").first().waitFor()
    const filledIn = `[...document.querySelectorAll("input, code, [contenteditable]")].some((element) =>
      (element.value ?? element.textContent).includes("${keys.server}"))`
    await page.waitForFunction(filledIn)
    await page.goBack()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.goto(`${host.address}/docs`)
    await page.getByText("Start a quote request").first().waitFor()
    assert.isFalse(await page.evaluate(filledIn))
  })

  it("works without a mouse", async () => {
    const { id } = await start("quotes_ready")
    await page.goto(`${host.address}/console`)
    await page.getByLabel("Server key or operator token").focus()
    await page.keyboard.type(keys.server)
    await page.keyboard.press("Enter")
    await heading("Requests").waitFor()
    await page.getByLabel("Find by id").focus()
    await page.keyboard.type(id)
    await page.keyboard.press("Enter")
    await heading("Renters").waitFor()
    assert.strictEqual(await page.evaluate("document.activeElement.tagName"), "H1")
  })

  it.each([
    { colorScheme: "light", width: 1280 },
    { colorScheme: "dark", width: 1280 },
    { colorScheme: "light", width: 400 },
    { colorScheme: "dark", width: 400 }
  ] as const)(
    "passes axe's accessibility checks in $colorScheme mode at $width pixels",
    async ({ colorScheme, width }) => {
      const client = host.quotewire.client(keys.server)
      const receiver = await failing()
      const hook = await client.create_event_subscription(
        { url: receiver.url, event_types: ["quote.created"] },
        { idempotency_key: "hook" }
      )
      const { id } = await start("some_carriers_silent")
      await client.advance_time({ seconds: 60 }, { idempotency_key: "minute" })
      // The pages that a key holder sees.
      await context.close()
      context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true })
      page = await context.newPage()
      await signIn(keys.server)
      await heading("Requests").waitFor()
      const check = async (path: string, shown: string): Promise<void> => {
        await page.goto(`${host.address}/console/${path}`)
        await page.getByText(shown).first().waitFor()
        await page.addScriptTag({ content: axe.source })
        assert.deepStrictEqual(await page.evaluate(findings), [], path)
        assert.isTrue(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          `${path} scrolls sideways`
        )
      }
      await check("requests", "Started")
      await check(`requests/${id}`, "Per month")
      await check("events", "quote.created")
      await check("webhooks", "/hooks")
      await check(`webhooks/${hook.id}/recoveries`, "Preview")
      await check("calls", "start_quote_request")
      await check("try", "Facts")
      // The pages that an operator sees.
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Server key or operator token").fill(await operatorToken(["read", "write"]))
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("link", { name: "Audit log" }).waitFor()
      await check("requests", "Started")
      await check(`requests/${id}`, "Read the exchanges")
      await check("carriers", "no carriers of its own")
      await check("consumers", "No program consumes")
      await check("work", "Oldest due job")
      await check("audit", "get quote request timeline")
      await receiver.close()
    }
  )
})

/** The findings of axe on a page, each with its element. */
const findings = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))"

/** A new token for operators. */
const operatorToken = async (scopes: ReadonlyArray<"read" | "write" | "facts">): Promise<string> => {
  const issued = await host.quotewire.run(
    OperatorTokens.OperatorTokens.use((tokens) => tokens.create({ name: "Support", scopes: [...scopes] }))
  )
  return issued.token
}
